#include "store/model_support.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "files/gguf.h"
#include "files/huggingface_folder.h"
#include "files/quantized.h"
#include "store/open_base.h"
#include "store/trained_model.h"
#include "support/error.h"
#include "tokenizer/json_field.h"
#include "tokenizer/tokenizer.h"

namespace fwl {
namespace {

// Weights that are not quantised are copied when a model is opened; larger ones are not opened only to describe them.
constexpr size_t most_dense_bytes = 256 << 20;

// The error that an action ends in, without the path of the file.
void note_error(nlohmann::json& missing, const std::string& path, const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    std::string message = error.what();
    if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
    missing.push_back(message);
  }
}

bool is_light(const GgufFile& file) {
  size_t dense = 0;
  for (const auto& tensor : file.tensors()) dense += tensor.type == GgufType::F32 ? tensor.bytes.size() : 0;
  return dense <= most_dense_bytes;
}

bool is_light(const HuggingFaceFolder& folder) {
  size_t dense = 0;
  for (const auto& name : folder.names()) {
    const auto& tensor = folder.tensor(name);
    dense += tensor.dtype == Dtype::F32 || tensor.dtype == Dtype::F64 ? tensor.bytes.size() : 0;
  }
  return dense <= most_dense_bytes;
}

bool has_vocabulary(const std::string& folder) {
  for (const auto* name : {"tokenizer.json", "tokenizer.model", "vocab.json"})
    if (std::filesystem::exists(std::filesystem::path(folder) / name)) return true;
  return false;
}

nlohmann::json support_of(const std::string& path, const std::string& architecture, bool is_openable,
                          bool has_tokenizer) {
  nlohmann::json missing = nlohmann::json::array();
  note_error(missing, path, [&] { is_openable ? (void)open_base(path) : check_architecture(path); });
  if (has_tokenizer) note_error(missing, path, [&] { open_tokenizer(path); });
  return {{"architecture", architecture}, {"supported", missing.empty()}, {"missing", missing}};
}

}  // namespace

nlohmann::json describe_support(const std::string& path) {
  if (is_huggingface_folder(path)) {
    const HuggingFaceFolder folder(path);
    const auto& type = json_or_null(folder.config(), "model_type");
    if (!type.is_string() || is_trained_model(folder)) return nullptr;
    return support_of(path, type.get<std::string>(), is_light(folder), has_vocabulary(path));
  }
  if (std::filesystem::path(path).extension() != ".gguf") return nullptr;
  const GgufFile file(path);
  const auto architecture = file.get_or<std::string_view>("general.architecture", "none");
  return support_of(path, std::string(architecture), is_light(file), file.find("tokenizer.ggml.model") != nullptr);
}

}  // namespace fwl
