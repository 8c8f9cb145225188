// Decoders with RMSNorm, rotary positions, grouped kv heads and a gated feed-forward part: Llama and its relatives.
#pragma once

#include "base/cached_model.h"
#include "base/decoder_config.h"

namespace fwl {

class Decoder : public CachedModel {
 public:
  // Weights by their Hugging Face names ("model.layers.0.self_attn.q_proj.weight", …).
  Decoder(DecoderConfig config, WeightSource& source);

  std::string architecture() const override { return config_.architecture; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  int64_t blocks() const override { return config_.layers; }
  int64_t vocabulary_size() const override { return config_.vocabulary_size; }
  ContextOptions default_context() const override;
  const DecoderConfig& config() const { return config_; }

 protected:
  void check_context(const ContextOptions& context) const override;
  at::Tensor run(const TokenRows& rows, const BaseCall& call) const override;
  int64_t window_tokens(int64_t layer) const override { return config_.layer_kind(layer).window_tokens; }

 private:
  struct Projections {  // queries, keys and values before they are normalised and rotated: N,heads * d
    at::Tensor queries, keys, values;
  };
  // What a block does not have is undefined.
  struct Layer {
    at::Tensor attention_gain, attention_out_gain, inner_gain, inner_out_gain, query_gain, key_gain;
    Matrix query, key, value, query_key_value, output, gate, up, gate_up, down;
    at::Tensor query_bias, key_bias, value_bias, query_key_value_bias, output_bias;
  };

  Layer ask_for_layer(int64_t index, ParameterList& list) const;
  void ask_for_attention(Layer& layer, int64_t index, ParameterList& list) const;
  at::Tensor normed(const at::Tensor& x, const at::Tensor& gain) const;
  at::Tensor without_gain(const at::Tensor& x) const;  // normalised, for fast weights beside parts without a norm
  at::Tensor feed_forward(const Layer& layer, const at::Tensor& x) const;
  Projections projections(const Layer& layer, const at::Tensor& x) const;
  at::Tensor in_heads(const at::Tensor& x, const at::Tensor& gain, int64_t heads) const;
  at::Tensor attention(const Layer& layer, int64_t index, const at::Tensor& x, const std::vector<RotaryAngles>& angles,
                       const TokenRows& rows) const;

  DecoderConfig config_;
  std::vector<at::Tensor> frequencies_;  // d/2 each, double: of each kind of rotary positions
  Matrix embedding_;
  std::vector<Layer> layers_;
  at::Tensor final_gain_;
};

}  // namespace fwl
