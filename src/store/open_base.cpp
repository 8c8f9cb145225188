#include "store/open_base.h"

#include <fmt/format.h>

#include <filesystem>

#include "store/import_gpt2.h"
#include "store/import_llama.h"
#include "store/import_transformer_xl.h"
#include "store/model_config.h"
#include "support/error.h"

namespace fwl {
namespace {

std::shared_ptr<BaseModel> open_gguf(const std::string& path, WeightFormat format) {
  const auto file = std::make_shared<const GgufFile>(path);
  const auto architecture = file->get<std::string_view>("general.architecture");
  if (architecture != "llama")
    fail(path + ": general.architecture", "llama", fmt::format("'{}'", architecture),
         "other architectures are not supported as GGUF files");
  return import_llama(file, format);
}

std::shared_ptr<BaseModel> open_folder(const std::string& path, WeightFormat format) {
  const auto folder = std::make_shared<const HuggingFaceFolder>(path);
  const auto type = ModelConfig(*folder).text("model_type", "");
  if (type == "llama" || type == "mistral") return import_llama(folder, format);
  if (type == "gpt2") return import_gpt2(folder, format);
  if (type == "transfo-xl") return import_transformer_xl(folder);
  fail(path + "/config.json: model_type", "llama, mistral, gpt2 or transfo-xl", fmt::format("'{}'", type),
       "this architecture is not supported");
}

}  // namespace

std::shared_ptr<BaseModel> open_base(const std::string& path, WeightFormat format) {
  if (is_huggingface_folder(path)) return open_folder(path, format);
  if (std::filesystem::is_directory(path))
    fail(path, "a model folder with a config.json, or a GGUF file", "a folder without config.json");
  return open_gguf(path, format);
}

}  // namespace fwl
