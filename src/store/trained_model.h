// Models that were made and trained here: a folder with config.json, model.safetensors and the vocabulary.
#pragma once

#include <memory>
#include <string>

#include "architecture/base_config.h"
#include "files/huggingface_folder.h"
#include "memory/memory_config.h"
#include "model/language_model.h"

namespace fwl {

struct ModelDescription {
  BaseConfig base;
  MemoryChoice memory;
  std::string objective = "fwl";  // what it was trained on: static, fwl, fwl-first-order
  int64_t trained_tokens = 0;     // the longest text that the fast weights were trained on; 0: carried on and on
  std::string tokenizer;          // "bytes", the name of the file beside config.json, or empty: not known
  std::string tokenizer_hash;
};

void add_fields(Fields& fields, ModelDescription& description);

// One constructor for fresh weights and for saved ones.
std::shared_ptr<LanguageModel> make_model(const ModelDescription& description, WeightSource& source,
                                          std::shared_ptr<const Tokenizer> tokenizer);

// Each file is replaced atomically; `tokenizer_path` is where the vocabulary is copied from.
void save_trained_model(const LanguageModel& model, const ModelDescription& description,
                        const std::string& tokenizer_path, const std::string& folder);

bool is_trained_model(const HuggingFaceFolder& folder);
std::shared_ptr<LanguageModel> open_trained_model(const std::shared_ptr<const HuggingFaceFolder>& folder);
ModelDescription read_description(const HuggingFaceFolder& folder);

}  // namespace fwl
