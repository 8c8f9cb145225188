// Models that are made here and trained: which architecture, and its sizes, as one list of fields.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/base_model.h"
#include "weights/weight_source.h"

namespace fwl {

class Fields;

struct ArchitectureConfig {
  std::string name = "sparse-local";  // or "transformer-xl"
  int64_t vocabulary_size = 0;        // from the data
  int64_t layers = 12, width = 768, heads = 12, inner_width = 3072;
  double dropout = 0;
  bool is_tied = true;  // head and embedding share their weights
  // sparse-local
  int64_t block_tokens = 128;
  // transformer-xl
  int64_t memory_tokens = 0, clamp_tokens = 0;
  bool is_same_length = true;
  bool is_pre_norm = false;
  double attention_dropout = 0;
  int64_t embedding_width = 0;   // 0: the model's width
  std::vector<int64_t> cutoffs;  // of the adaptive softmax
  int64_t divisor = 1;
};

// Under names like "model.layers".
void add_fields(Fields& fields, ArchitectureConfig& config);

std::shared_ptr<BaseModel> make_base(const ArchitectureConfig& config, WeightSource& source);

}  // namespace fwl
