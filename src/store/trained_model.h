// Models trained by `fwl train`: a folder with config.json, model.safetensors and the vocabulary.
#pragma once

#include <memory>
#include <string>

#include "architecture/base_config.h"
#include "blocks/block_config.h"
#include "files/huggingface_folder.h"
#include "memory/memory_config.h"
#include "model/language_model.h"

namespace fwl {

struct ModelDescription {
  BaseConfig base;
  MemoryChoice memory;
  BlockConfig blocks;
  std::string objective = "fwl";  // static, fwl or fwl-first-order
  int64_t trained_tokens = 0;     // length of the training windows; 0: state was carried without end
  std::string tokenizer;          // "bytes", the name of a file beside config.json, or empty: unknown
  std::string tokenizer_hash;
};

void add_fields(Fields& fields, ModelDescription& description);

// One constructor for fresh weights and for saved ones.
std::shared_ptr<LanguageModel> make_model(const ModelDescription& description, WeightSource& source,
                                          std::shared_ptr<const Tokenizer> tokenizer);

// Replaces each file atomically; copies the vocabulary from `tokenizer_path`.
void save_trained_model(const LanguageModel& model, const ModelDescription& description,
                        const std::string& tokenizer_path, const std::string& folder);

bool is_trained_model(const HuggingFaceFolder& folder);
std::shared_ptr<LanguageModel> open_trained_model(const std::shared_ptr<const HuggingFaceFolder>& folder);
ModelDescription read_description(const HuggingFaceFolder& folder);

}  // namespace fwl
