#include "store/open_base.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "architecture/architecture.h"
#include "architecture/folder_config.h"
#include "architecture/model_limits.h"
#include "support/error.h"

namespace fwl {
namespace {

using PublishedNames = std::vector<std::string> Architecture::*;

// The architecture that a published file names.
const Architecture& find_architecture(const std::string& where, const std::string& name, PublishedNames names) {
  std::vector<std::string> known;
  for (const auto& architecture : architectures()) {
    if (std::ranges::find(architecture.*names, name) != (architecture.*names).end()) return architecture;
    known.insert(known.end(), (architecture.*names).begin(), (architecture.*names).end());
  }
  fail(where, fmt::format("one of {}", fmt::join(known, ", ")), fmt::format("'{}'", name),
       "this architecture is not supported");
}

std::shared_ptr<BaseModel> open_gguf(const std::string& path, WeightFormat format) {
  const auto file = std::make_shared<const GgufFile>(path);
  const std::string name(file->get<std::string_view>("general.architecture"));
  const auto& architecture = find_architecture(path + ": general.architecture", name, &Architecture::gguf_names);
  check_model_sizes(*file);
  return architecture.open_gguf(file, format);
}

std::shared_ptr<BaseModel> open_folder(const std::string& path, WeightFormat format) {
  const auto folder = std::make_shared<const HuggingFaceFolder>(path);
  const FolderConfig json(*folder);
  const auto name = json.text("model_type", "");
  const auto& architecture = find_architecture(json.where() + ": model_type", name, &Architecture::folder_names);
  check_model_sizes(*folder);
  return architecture.open_folder(folder, format);
}

}  // namespace

std::shared_ptr<BaseModel> open_base(const std::string& path, WeightFormat format) {
  if (is_huggingface_folder(path)) return open_folder(path, format);
  if (std::filesystem::is_directory(path))
    fail(path, "a model folder with a config.json, or a GGUF file", "a folder without config.json");
  return open_gguf(path, format);
}

}  // namespace fwl
