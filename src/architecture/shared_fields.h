// Settings that several architectures have: one name, one help text and one range for each.
#pragma once

#include "head/vocabulary_config.h"
#include "support/fields.h"

namespace fwl {

inline void add_layers(Fields& fields, int64_t& layers) {
  fields.add("model.layers", layers, "transformer layers").range(1, 1000);
}
inline void add_hidden_size(Fields& fields, int64_t& hidden_size) {
  fields.add("model.hidden_size", hidden_size, "numbers in a hidden state").range(2, 65536);
}
inline void add_heads(Fields& fields, int64_t& heads) {
  fields.add("model.heads", heads, "attention heads").range(1, 1024);
}
inline void add_ffn_size(Fields& fields, int64_t& ffn_size) {
  fields.add("model.ffn_size", ffn_size, "numbers between the two maps of a feed-forward part").range(1, 1 << 20);
}
inline void add_dropout(Fields& fields, double& dropout) {
  fields.add("model.dropout", dropout, "share of activations dropped in training").range(0, 0.99);
}
inline void add_tied(Fields& fields, bool& is_tied) {
  fields.add("model.tied", is_tied, "the head's weight is the embedding");
}
inline void add_context_tokens(Fields& fields, int64_t& context_tokens) {
  fields.add("model.context_tokens", context_tokens, "longest text that is read at once").range(1, 1 << 24);
}
inline void add_rope_base(Fields& fields, double& rope_base) {
  fields.add("model.rope_base", rope_base, "base of the rotary positions' wavelengths").range(1, 1e12);
}
// The adaptive softmax.
inline void add_clusters(Fields& fields, VocabularyConfig& vocabulary) {
  fields.add("model.cutoffs", vocabulary.cutoffs, "where clusters of the adaptive softmax end; none: one softmax");
  fields.add("model.divisor", vocabulary.divisor, "with cutoffs: how much narrower each cluster's vectors are")
      .range(1, 64);
  fields
      .add("model.embedding_size", vocabulary.embedding_size,
           "numbers in the vector of a frequent token; 0: hidden_size")
      .range(0, 65536);
}

// The head's projections are the embedding's, but for the first cluster's.
inline void tie_projections(VocabularyConfig& vocabulary) {
  vocabulary.tied_projections.assign(vocabulary.cutoffs.size() + 1, vocabulary.is_tied);
  vocabulary.tied_projections.front() = false;
}

}  // namespace fwl
