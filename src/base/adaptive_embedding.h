// Transformer-XL's adaptive embedding: narrower vectors for rarer tokens, projected to the hidden size. The adaptive
// softmax uses the same tables when it is tied.
#pragma once

#include "head/head_factory.h"

namespace fwl {

// With divisor 1, all clusters share one table, projected only if embedding_size differs from hidden_size.
class AdaptiveEmbedding {
 public:
  AdaptiveEmbedding() = default;
  AdaptiveEmbedding(const VocabularyConfig& config, ParameterList& list);

  at::Tensor operator()(const at::Tensor& tokens) const;  // N -> N,D

  const EmbeddingTables& tables() const { return tables_; }

 private:
  VocabularyConfig config_;
  EmbeddingTables tables_;
};

}  // namespace fwl
