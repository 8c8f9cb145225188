// The choices by which decoders with rotary positions and a gated feed-forward part differ from each other. The
// defaults are those of Llama; the files in src/architecture name what is different in a family.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/pointwise.h"

namespace fwl {

// Where a block normalises, in each of its two parts: before the part, after it (before the residual sum), or both.
enum class NormPlacement { before, after, around };

// Norms of queries and keys: none, one over each head, or one over all heads together.
enum class QueryKeyNorms { none, per_head, whole };

// Rotary positions. A model may have several kinds, of which each layer uses one.
struct RotaryConfig {
  double base = 10000;
  int64_t size = 0;     // how many values of a head are rotated, from the first; 0: all
  at::Tensor divisors;  // size/2: divides the frequencies, for context scaling; may be undefined
  double scale = 1;     // of the rotated values of queries and keys
};

struct DecoderLayer {
  static constexpr int64_t unrotated = -1;

  int64_t window_tokens = 0;  // each position sees this many tokens; 0: all
  int64_t rotary = 0;         // which of the model's rotary positions, or `unrotated`
};

struct DecoderConfig {
  std::string architecture = "llama";
  int64_t vocabulary_size = 0, hidden_size = 768, layers = 12, heads = 12, kv_heads = 0, head_size = 0, ffn_size = 3072;
  int64_t context_tokens = 1024;
  std::string context_limit;  // for errors: why it is shorter than the published one; empty: it is not
  double norm_epsilon = 1e-5;
  double gain_offset = 0;  // added to the stored gains of norms
  NormPlacement norms = NormPlacement::before;
  QueryKeyNorms query_key_norms = QueryKeyNorms::none;
  GateActivation activation = GateActivation::silu;
  double embedding_scale = 1;
  double score_scale = 0;  // of attention scores; 0: one over the root of the head size
  RotaryPairs rotary_pairs = RotaryPairs::halves;
  std::vector<RotaryConfig> rotaries = {{}};
  std::vector<DecoderLayer> layer_kinds;  // empty: all layers see everything and are rotated alike
  bool is_tied = true;                    // the head shares the embedding's weight
  bool has_attention_bias = false;        // of queries, keys and values
  bool has_output_bias = false;           // of the attention's output
  bool has_joined_attention = false;      // queries, keys and values come from one matrix
  bool has_joined_gate = false;           // gate and up come from one matrix

  const DecoderLayer& layer_kind(int64_t layer) const;
  int64_t widest_window() const;  // 0: some layer sees everything
  void check() const;             // throws UserError
};

}  // namespace fwl
