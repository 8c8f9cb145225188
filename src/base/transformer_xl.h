// Transformer-XL: attention by relative position over a memory of earlier segments, adaptive embedding and softmax.
#pragma once

#include "base/adaptive_embedding.h"
#include "base/base_model.h"

namespace fwl {

struct TransformerXlConfig {
  VocabularyConfig vocabulary = VocabularyConfig::plain(0, 768, true);
  int64_t layers = 12, heads = 12, ffn_size = 3072;
  int64_t head_size = 0;  // 0: hidden size / heads
  int64_t memory_tokens = 0;
  int64_t clamp_tokens = 0;    // longer distances are clamped to it; 0: no clamp
  bool is_same_length = true;  // each position sees memory_tokens keys; otherwise the whole memory and its own segment
  bool is_pre_norm = false;    // LayerNorm before each sublayer instead of after it
  bool has_biases_per_layer = true;
  double norm_epsilon = 1e-5;
  double dropout = 0, attention_dropout = 0;
};

// With is_same_length, hidden states do not depend on how the text is split into segments. Without it, a segment's
// first positions see fewer keys than its last ones, as in the original's training.
//
// With gradients, the memory holds the layers' inputs, because keys and values change with the weights. Without, it
// holds the keys and values, so that nothing is computed twice.
class TransformerXl : public BaseModel {
 public:
  // Weights by their Hugging Face names ("transformer.layers.0.dec_attn.qkv_net.weight", …).
  TransformerXl(TransformerXlConfig config, WeightSource& source);

  std::string architecture() const override { return "transformer-xl"; }
  int64_t hidden_size() const override { return config_.vocabulary.hidden_size; }
  int64_t blocks() const override { return config_.layers; }
  int64_t vocabulary_size() const override { return config_.vocabulary.size; }
  ContextOptions default_context() const override;
  BaseState trimmed(const BaseState& state) const override;
  std::vector<std::vector<int64_t>> cache_shapes(const BaseState& trimmed) const override;

  double attention_flops(int64_t segment_tokens) const override;

  const TransformerXlConfig& config() const { return config_; }

 protected:
  std::vector<at::Tensor> read_checked(const std::vector<TokenSpan>& spans, const BaseCall& call) const override;
  void check_context(const ContextOptions& context) const override;

 private:
  struct Layer {
    at::Tensor query_key_value, distance, output;  // 3*heads*d,D   heads*d,D   D,heads*d
    at::Tensor content_bias, position_bias;        // heads,d
    at::Tensor attention_gain, attention_shift;    // D
    at::Tensor up, up_bias, down, down_bias;       // inner,D   inner   D,inner   D
    at::Tensor inner_gain, inner_shift;            // D
  };
  struct KeysAndValues {
    at::Tensor keys, values;  // B,heads,K,d
  };

  int64_t kept_tokens(const BaseState& state) const;
  bool wants_gradient() const;
  at::Tensor dropped(const at::Tensor& x, const BaseCall& call) const;
  at::Tensor in_heads(const at::Tensor& x) const;  // B,T,heads*d -> B,heads,T,d
  at::Tensor distance_keys(int64_t index, int64_t keys, BaseState& state, const BaseCall& call) const;
  at::Tensor attention_input(const Layer& layer, const at::Tensor& x) const;
  KeysAndValues project(const Layer& layer, const at::Tensor& input) const;  // B,T,D
  KeysAndValues extend(int64_t index, const KeysAndValues& latest, BaseState& state) const;
  KeysAndValues extend_hidden(const Layer& layer, int64_t index, const at::Tensor& x, BaseState& state) const;
  at::Tensor attention(const Layer& layer, int64_t index, const at::Tensor& x, const TokenRows& rows,
                       const BaseCall& call) const;
  at::Tensor inner(const Layer& layer, int64_t index, const at::Tensor& x, const TokenRows& rows,
                   const BaseCall& call) const;
  at::Tensor normed(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& shift) const;
  void prepare(BaseState& state, int64_t tokens) const;

  TransformerXlConfig config_;
  AdaptiveEmbedding embedding_;
  std::vector<Layer> layers_;
};

}  // namespace fwl
