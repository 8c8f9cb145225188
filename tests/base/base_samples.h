// One small model of every architecture, with random weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/decoder.h"
#include "base/gpt2.h"
#include "base/sparse_local.h"
#include "base/transformer_xl.h"

namespace fwl {

inline constexpr int64_t sample_vocabulary = 50;

inline std::shared_ptr<BaseModel> sample_llama(const at::TensorOptions& options, int64_t sliding_tokens = 0) {
  DecoderConfig config;
  config.vocabulary_size = sample_vocabulary;
  config.hidden_size = 24;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_size = 6;
  config.ffn_size = 40;
  config.context_tokens = 64;
  config.layer_kinds.assign(2, {.window_tokens = sliding_tokens});
  FreshWeights weights(1, options);
  return std::make_shared<Decoder>(config, weights);
}

// Sliding and global layers, norms around each part, joined matrices: what Gemma and Phi choose.
inline std::shared_ptr<BaseModel> sample_mixed_decoder(const at::TensorOptions& options) {
  DecoderConfig config;
  config.architecture = "mixed";
  config.vocabulary_size = sample_vocabulary;
  config.hidden_size = 24;
  config.layers = 3;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_size = 8;
  config.ffn_size = 40;
  config.context_tokens = 64;
  config.norms = NormPlacement::around;
  config.query_key_norms = QueryKeyNorms::per_head;
  config.activation = GateActivation::gelu;
  config.gain_offset = 1;
  config.embedding_scale = 5;
  config.score_scale = 0.3;
  config.rotaries = {{.divisors = {}}, {.base = 100, .size = 6, .divisors = {}, .scale = 1.2}};
  config.layer_kinds = {{.window_tokens = 5, .rotary = 1}, {}, {.window_tokens = 3, .rotary = DecoderLayer::unrotated}};
  config.has_joined_attention = config.has_joined_gate = true;
  FreshWeights weights(6, options);
  return std::make_shared<Decoder>(config, weights);
}

// Norms after each part and over all heads: what OLMo 2 chooses.
inline std::shared_ptr<BaseModel> sample_post_norm_decoder(const at::TensorOptions& options) {
  DecoderConfig config;
  config.architecture = "post-norm";
  config.vocabulary_size = sample_vocabulary;
  config.hidden_size = 24;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 4;
  config.head_size = 6;
  config.ffn_size = 40;
  config.context_tokens = 64;
  config.norms = NormPlacement::after;
  config.query_key_norms = QueryKeyNorms::whole;
  config.has_attention_bias = true;
  FreshWeights weights(7, options);
  return std::make_shared<Decoder>(config, weights);
}

inline std::shared_ptr<BaseModel> sample_gpt2(const at::TensorOptions& options) {
  Gpt2Config config;
  config.vocabulary_size = sample_vocabulary;
  config.hidden_size = 24;
  config.layers = 2;
  config.heads = 4;
  config.ffn_size = 40;
  config.context_tokens = 64;
  FreshWeights weights(2, options);
  return std::make_shared<Gpt2>(config, weights);
}

inline std::shared_ptr<BaseModel> sample_sparse_local(const at::TensorOptions& options) {
  SparseLocalConfig config;
  config.vocabulary.size = sample_vocabulary;
  config.layers = 2;
  config.hidden_size = 24;
  config.heads = 4;
  config.ffn_size = 40;
  config.block_tokens = 5;
  FreshWeights weights(3, options);
  return std::make_shared<SparseLocal>(config, weights);
}

inline std::shared_ptr<BaseModel> sample_transformer_xl(const at::TensorOptions& options, bool is_pre_norm = false,
                                                        int64_t divisor = 2) {
  TransformerXlConfig config;
  config.vocabulary.size = sample_vocabulary;
  config.vocabulary.hidden_size = 24;
  config.vocabulary.cutoffs = {20, 35};
  config.vocabulary.divisor = divisor;
  config.layers = 2;
  config.heads = 4;
  config.head_size = 6;
  config.ffn_size = 40;
  config.memory_tokens = 7;
  config.is_same_length = true;
  config.is_pre_norm = is_pre_norm;
  FreshWeights weights(4, options);
  return std::make_shared<TransformerXl>(config, weights);
}

struct SampleBase {
  std::string name;
  std::shared_ptr<BaseModel> model;
};

inline std::vector<SampleBase> sample_bases(const at::TensorOptions& options = at::kFloat) {
  return {{"llama", sample_llama(options)},
          {"llama, sliding", sample_llama(options, 6)},
          {"mixed decoder", sample_mixed_decoder(options)},
          {"post-norm decoder", sample_post_norm_decoder(options)},
          {"gpt2", sample_gpt2(options)},
          {"sparse-local", sample_sparse_local(options)},
          {"transformer-xl", sample_transformer_xl(options)},
          {"transformer-xl, norm first", sample_transformer_xl(options, true)}};
}

}  // namespace fwl
