#include "store/trained_model.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "files/self_checksum.h"
#include "support/error.h"
#include "support/fields.h"
#include "tokenizer/json_field.h"
#include "weights/published_weights.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr const char* model_type = "fwl";

// Copies the vocabulary into the model's folder, so that the folder is self-contained.
void copy_tokenizer(const std::string& source, const std::string& folder, const ModelDescription& description) {
  if (description.tokenizer.empty() || description.tokenizer == "bytes") return;
  const auto target = fs::path(folder) / description.tokenizer;
  if (fs::exists(target) && to_hex(open_tokenizer(target.string())->hash()) == description.tokenizer_hash) return;
  write_file_atomically(target.string(), MemoryMap(source).text());
}

std::shared_ptr<const Tokenizer> tokenizer_of(const HuggingFaceFolder& folder, const ModelDescription& description) {
  if (description.tokenizer.empty()) return nullptr;
  const bool is_bytes = description.tokenizer == "bytes";
  if (!is_bytes && fs::path(description.tokenizer).filename() != description.tokenizer)
    fail(folder.path() + "/config.json: tokenizer.file", "the name of a file beside it", description.tokenizer);
  const auto path = is_bytes ? description.tokenizer : (fs::path(folder.path()) / description.tokenizer).string();
  std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(path);
  if (to_hex(tokenizer->hash()) != description.tokenizer_hash)
    fail(path, "the vocabulary that the model was trained with", "another one", "the file has been changed");
  return tokenizer;
}

}  // namespace

void add_fields(Fields& fields, ModelDescription& description) {
  add_fields(fields, description.base);
  fields.add("model.vocabulary_size", description.base.vocabulary_size, "tokens of the vocabulary").range(1, 1 << 30);
  add_fields(fields, description.memory);
  add_fields(fields, description.blocks);
  fields.add("objective", description.objective, "what the model was trained on")
      .choices({"static", "fwl", "fwl-first-order"});
  fields.add("trained_tokens", description.trained_tokens, "length of the texts it was trained on; 0: carried on")
      .range(0, 1e15);
  fields.add("tokenizer.file", description.tokenizer, "bytes, or the vocabulary's file in this folder");
  fields.add("tokenizer.hash", description.tokenizer_hash, "SHA-256 of what the ids depend on");
}

std::shared_ptr<LanguageModel> make_model(const ModelDescription& description, WeightSource& source,
                                          std::shared_ptr<const Tokenizer> tokenizer) {
  auto base = description.base.make(source);
  const bool is_first_order = description.objective == "fwl-first-order";
  auto memory = description.memory.make({base->hidden_size(), *base->head(), source, is_first_order, {}});
  auto blocks = description.blocks.make(base->blocks(), base->hidden_size(), source, is_first_order);
  return std::make_shared<LanguageModel>(std::move(base), std::move(memory), std::move(tokenizer), std::move(blocks));
}

void save_trained_model(const LanguageModel& model, const ModelDescription& description,
                        const std::string& tokenizer_path, const std::string& folder) {
  make_folder(folder);
  auto copy = description;
  Fields fields;
  add_fields(fields, copy);
  auto json = fields.to_json();
  json["model_type"] = model_type;
  json["fwl_version"] = FWL_VERSION;
  TensorMap tensors;
  for (const auto& [name, tensor] : model.parameters()) tensors[name] = tensor.detach();
  save_checked_tensors(tensors, (fs::path(folder) / "model.safetensors").string(), {{"format", "pt"}});
  copy_tokenizer(tokenizer_path, folder, description);
  write_file_atomically((fs::path(folder) / "config.json").string(), checked_json_text(std::move(json)));
}

bool is_trained_model(const HuggingFaceFolder& folder) {
  const auto& type = json_or_null(folder.config(), "model_type");
  return type.is_string() && type.get_ref<const std::string&>() == model_type;
}

ModelDescription read_description(const HuggingFaceFolder& folder) {
  const auto where = folder.path() + "/config.json";
  auto json = parse_checked_json(where, "the config of a model", MemoryMap(where).text());
  json.erase("model_type");
  json.erase("fwl_version");
  ModelDescription description;
  Fields fields;
  add_fields(fields, description);
  fields.set_json(where, json);
  fields.check(where);
  return description;
}

std::shared_ptr<LanguageModel> open_trained_model(const std::shared_ptr<const HuggingFaceFolder>& folder) {
  const auto description = read_description(*folder);
  for (const auto& shard : folder->shards())
    if (!shard.has_checksum()) shard.expect_checksum("the weights of a model");
  FolderWeights weights(folder, WeightFormat::fp32);
  return make_model(description, weights, tokenizer_of(*folder, description));
}

}  // namespace fwl
