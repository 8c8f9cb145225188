// GPT-2: learned positions, LayerNorm before each sublayer, GELU.
#pragma once

#include "base/cached_model.h"

namespace fwl {

struct Gpt2Config {
  int64_t vocabulary_size = 0, hidden_size = 768, layers = 12, heads = 12, ffn_size = 3072, context_tokens = 1024;
  double norm_epsilon = 1e-5;
  bool is_tied = true;
  double dropout = 0;
};

class Gpt2 : public CachedModel {
 public:
  // Weights by their Hugging Face names ("transformer.h.0.attn.c_attn.weight", …), whose linear maps are stored
  // transposed (in,out).
  Gpt2(const Gpt2Config& config, WeightSource& source);

  std::string architecture() const override { return "gpt2"; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  int64_t blocks() const override { return config_.layers; }
  int64_t vocabulary_size() const override { return config_.vocabulary_size; }
  ContextOptions default_context() const override;

 protected:
  void check_context(const ContextOptions& context) const override;
  at::Tensor run(const TokenRows& rows, const BaseCall& call) const override;

 private:
  struct Norm {
    at::Tensor gain, shift;
  };
  struct Linear {
    at::Tensor weight, bias;  // in,out
  };
  struct Layer {
    Norm attention_norm, inner_norm;
    Linear query_key_value, output, up, down;
  };
  at::Tensor normed(const at::Tensor& x, const Norm& norm) const;
  at::Tensor dropped(const at::Tensor& x, const BaseCall& call) const;
  at::Tensor attention(const Layer& layer, int64_t index, const at::Tensor& x, const TokenRows& rows,
                       const BaseCall& call) const;

  Gpt2Config config_;
  Matrix embedding_;
  at::Tensor positions_;
  std::vector<Layer> layers_;
  Norm final_norm_;
};

}  // namespace fwl
