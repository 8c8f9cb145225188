// The sparse local-attention transformer: each block of positions attends to itself and the block before it, so that
// cost is linear in the length of the text, and the context is unlimited.
#pragma once

#include "base/adaptive_embedding.h"
#include "base/cached_model.h"
#include "engine/pointwise.h"
#include "weights/weight_source.h"

namespace fwl {

struct SparseLocalConfig {
  int64_t layers = 12, hidden_size = 768, heads = 12, ffn_size = 3072;
  int64_t block_tokens = 128;
  double dropout = 0;
  double rope_base = 10000;
  VocabularyConfig vocabulary;  // only its clusters are set; the sizes follow from the fields above

  void check(const std::string& where) const;
};

class SparseLocal : public CachedModel {
 public:
  SparseLocal(const SparseLocalConfig& config, WeightSource& source);

  std::string architecture() const override { return "sparse-local"; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  int64_t blocks() const override { return config_.layers; }
  int64_t vocabulary_size() const override { return config_.vocabulary.size; }
  ContextOptions default_context() const override { return {}; }
  const SparseLocalConfig& config() const { return config_; }

 protected:
  void check_context(const ContextOptions& context) const override;
  at::Tensor run(const TokenRows& rows, const BaseCall& call) const override;
  VisibleKeys visible_keys(const ContextOptions&, int64_t) const override {
    return VisibleKeys::blocks(config_.block_tokens);
  }

 private:
  struct Norm {
    at::Tensor gain, shift;
  };
  struct Layer {
    Norm attention_norm, inner_norm;
    at::Tensor query_key_value, output, up, up_bias, down, down_bias;
  };
  bool is_adaptive() const { return config_.vocabulary.head == HeadKind::adaptive_softmax; }
  at::Tensor embedded(const at::Tensor& tokens) const;
  at::Tensor normed(const at::Tensor& x, const Norm& norm) const;
  at::Tensor dropped(const at::Tensor& x, const BaseCall& call) const;
  at::Tensor attention(const Layer& layer, int64_t index, const at::Tensor& x, const RotaryAngles& angles,
                       const TokenRows& rows) const;

  SparseLocalConfig config_;
  at::Tensor frequencies_, embedding_;
  AdaptiveEmbedding adaptive_embedding_;  // used instead of embedding_ if there are clusters
  std::vector<Layer> layers_;
  Norm final_norm_;
};

}  // namespace fwl
