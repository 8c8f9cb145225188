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

const Architecture& architecture_of(const GgufFile& file) {
  const std::string name(file.get<std::string_view>("general.architecture"));
  return find_architecture(file.where() + ": general.architecture", name, &Architecture::gguf_names);
}

const Architecture& architecture_of(const HuggingFaceFolder& folder) {
  const FolderConfig json(folder);
  return find_architecture(json.where() + ": model_type", json.text("model_type", ""), &Architecture::folder_names);
}

constexpr int64_t most_fp32_bytes = 640'000'000;

WeightFormat chosen_format(WeightFormat format, int64_t weights) {
  if (format != WeightFormat::automatic) return format;
  return weights <= most_fp32_bytes / 4 ? WeightFormat::fp32 : WeightFormat::quantized;
}

std::shared_ptr<BaseModel> open_gguf(const std::string& path, WeightFormat format) {
  const auto file = std::make_shared<const GgufFile>(path);
  const auto& architecture = architecture_of(*file);
  check_model_sizes(*file);
  int64_t weights = 0;
  for (const auto& tensor : file->tensors()) weights += tensor.values;
  return architecture.open_gguf(file, chosen_format(format, weights));
}

std::shared_ptr<BaseModel> open_folder(const std::string& path, WeightFormat format) {
  const auto folder = std::make_shared<const HuggingFaceFolder>(path);
  const auto& architecture = architecture_of(*folder);
  check_model_sizes(*folder);
  int64_t weights = 0;
  for (const auto& name : folder->names())
    weights += static_cast<int64_t>(folder->tensor(name).bytes.size() / bytes_of(folder->tensor(name).dtype));
  return architecture.open_folder(folder, chosen_format(format, weights));
}

}  // namespace

std::shared_ptr<BaseModel> open_base(const std::string& path, WeightFormat format) {
  if (is_huggingface_folder(path)) return open_folder(path, format);
  if (std::filesystem::is_directory(path))
    fail(path, "a model folder with a config.json, or a GGUF file", "a folder without config.json");
  return open_gguf(path, format);
}

void check_architecture(const std::string& path) {
  if (is_huggingface_folder(path))
    architecture_of(HuggingFaceFolder(path));
  else
    architecture_of(GgufFile(path));
}

}  // namespace fwl
