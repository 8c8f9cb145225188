// The Llama family: RMSNorm, rotary positions, grouped kv heads, SwiGLU.
#pragma once

#include "base/cached_model.h"
#include "engine/pointwise.h"

namespace fwl {

struct LlamaConfig {
  int64_t vocabulary_size = 0, hidden_size = 768, layers = 12, heads = 12, kv_heads = 0, head_size = 0, ffn_size = 3072;
  int64_t context_tokens = 1024;
  int64_t sliding_tokens = 0;  // sliding-window attention: each position sees this many tokens; 0: all
  double norm_epsilon = 1e-5;
  double rope_base = 10000;
  at::Tensor rotary_divisors;  // d/2: divides the frequencies, for context scaling; may be undefined
  RotaryPairs rotary_pairs = RotaryPairs::halves;
  bool is_tied = true;  // the head shares the embedding's weight
  bool has_attention_bias = false, has_output_bias = false;
};

class Llama : public CachedModel {
 public:
  // Weights by their Hugging Face names ("model.layers.0.self_attn.q_proj.weight", …).
  Llama(LlamaConfig config, WeightSource& source);

  std::string architecture() const override { return "llama"; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  int64_t blocks() const override { return config_.layers; }
  int64_t vocabulary_size() const override { return config_.vocabulary_size; }
  ContextOptions default_context() const override;
  const LlamaConfig& config() const { return config_; }

 protected:
  void check_context(const ContextOptions& context) const override;
  at::Tensor run(const TokenRows& rows, const BaseCall& call) const override;

 private:
  struct Layer {
    at::Tensor attention_gain, inner_gain;
    Matrix query, key, value, output, gate, up, down;
    at::Tensor query_bias, key_bias, value_bias, output_bias;
  };
  at::Tensor attention(const Layer& layer, int64_t index, const at::Tensor& x, const RotaryAngles& angles,
                       const TokenRows& rows) const;

  LlamaConfig config_;
  at::Tensor frequencies_;  // d/2, double
  Matrix embedding_;
  std::vector<Layer> layers_;
  at::Tensor final_gain_;
};

}  // namespace fwl
