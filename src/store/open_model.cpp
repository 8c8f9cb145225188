#include "store/open_model.h"

#include "store/adapter_folder.h"
#include "store/open_base.h"
#include "store/trained_model.h"
#include "support/error.h"
#include "support/sha256.h"

namespace fwl {
namespace {

OpenedModel open_trained(const std::string& path, const ProgressReport& progress) {
  const auto folder = std::make_shared<const HuggingFaceFolder>(path);
  OpenedModel opened;
  opened.model = open_trained_model(folder);
  opened.identity = model_hash(path, progress);
  const auto description = read_description(*folder);
  opened.objective = description.objective;
  if (!description.memory.bears_long_texts()) opened.safe_tokens = description.trained_tokens;
  return opened;
}

bool is_trained(const std::string& path) {
  return is_huggingface_folder(path) && is_trained_model(HuggingFaceFolder(path));
}

}  // namespace

OpenedModel open_model(const std::string& path, const std::string& adapter_folder, WeightFormat format,
                       const ProgressReport& progress) {
  if (is_trained(path)) {
    if (!adapter_folder.empty())
      fail(adapter_folder, "an adapter's base model", path, "a model trained here has its own layer");
    return open_trained(path, progress);
  }
  OpenedModel opened;
  auto base = open_base(path, format);
  std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(path);
  std::shared_ptr<const FastMemory> memory;
  std::shared_ptr<const BlockMemory> blocks;
  if (adapter_folder.empty()) {
    opened.identity = model_hash(path, progress);
  } else {
    auto found = open_adapter(adapter_folder, path, *base, progress);
    memory = std::move(found.memory);
    blocks = std::move(found.blocks);
    opened.identity = found.description.base_hash + "+" + model_hash(adapter_folder + "/adapter.safetensors", progress);
    opened.objective = found.description.objective;
  }
  opened.model =
      std::make_shared<LanguageModel>(std::move(base), std::move(memory), std::move(tokenizer), std::move(blocks));
  return opened;
}

OpenedModel with_blocks(OpenedModel opened, const BlockConfig& config) {
  if (!config.is_present()) return opened;
  const auto& model = *opened.model;
  if (model.blocks()) fail("blocks.at", "none, because the model has memories in its blocks", config.at);
  opened.model = std::make_shared<LanguageModel>(model.shared_base(), model.memory(), model.shared_tokenizer(),
                                                 config.untrained(model.base()));
  opened.identity += "+" + to_hex(sha256(config.description()));
  return opened;
}

}  // namespace fwl
