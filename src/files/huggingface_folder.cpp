#include "files/huggingface_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/json.h"
#include "support/near_name.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr std::string_view config_name = "config.json";
constexpr std::string_view single_name = "model.safetensors";
constexpr std::string_view index_name = "model.safetensors.index.json";
constexpr std::string_view shard_ending = ".safetensors";

std::string path_in(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

nlohmann::json load_object(const std::string& path) {
  auto json = parse_json(path, MemoryMap(path).text());
  if (!json.is_object()) fail(path, "a JSON object", json.type_name());
  return json;
}

// A plain file name: no folders, no way out of the folder, no hidden files.
bool is_plain_name(const std::string& name) {
  return name.ends_with(shard_ending) && name.front() != '.' &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

}  // namespace

bool is_huggingface_folder(const std::string& path) {
  return exists(path_in(path, config_name));
}

std::map<std::string, std::string> parse_shard_index(const std::string& where, std::string_view text) {
  const auto json = parse_json(where, text);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) fail(where, "an object with a weight_map", "none");
  std::map<std::string, std::string> shards;
  for (const auto& [name, shard] : map->items()) {
    const auto there = fmt::format("{}: tensor {}", where, printable(name));
    if (!shard.is_string()) fail(there, "the name of a shard", shard.type_name());
    const auto& file = shard.get_ref<const std::string&>();
    if (!is_plain_name(file))
      fail(there, "a shard named like model-00001-of-00002.safetensors, inside the folder",
           fmt::format("'{}'", printable(file)));
    shards.emplace(name, file);
  }
  return shards;
}

HuggingFaceFolder::HuggingFaceFolder(const std::string& path)
    : path_(path), config_(std::make_unique<nlohmann::json>(load_object(path_in(path, config_name)))) {
  open_shards();
}

HuggingFaceFolder::~HuggingFaceFolder() = default;
HuggingFaceFolder::HuggingFaceFolder(HuggingFaceFolder&&) noexcept = default;
HuggingFaceFolder& HuggingFaceFolder::operator=(HuggingFaceFolder&&) noexcept = default;

void HuggingFaceFolder::open_shards() {
  const auto single = path_in(path_, single_name), index = path_in(path_, index_name);
  if (exists(single)) {
    shards_.emplace_back(single);
    for (const auto& tensor : shards_.front().tensors()) tensors_.emplace(tensor.name, &tensor);
    return;
  }
  if (!exists(index))
    fail(path_, fmt::format("{} or {}", single_name, index_name), "neither", "an incomplete download");
  const auto shard_of = parse_shard_index(index, MemoryMap(index).text());
  std::map<std::string, size_t> opened;
  for (const auto& [name, shard] : shard_of) {
    if (!opened.contains(shard) && !exists(path_in(path_, shard)))
      fail(path_, fmt::format("shard {}", printable(shard)), "a folder without it", "an incomplete download");
    if (opened.try_emplace(shard, shards_.size()).second) shards_.emplace_back(path_in(path_, shard));
  }
  for (const auto& [name, shard] : shard_of) {
    const auto& file = shards_[opened.at(shard)];
    const auto* tensor = file.find(name);
    if (!tensor)
      fail(file.where(), fmt::format("tensor {}", printable(name)), "a file without it", "the index names it");
    tensors_.emplace(name, tensor);
  }
}

std::vector<std::string> HuggingFaceFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, _] : tensors_) names.push_back(name);
  return names;
}

const TensorView* HuggingFaceFolder::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

const TensorView& HuggingFaceFolder::tensor(std::string_view name) const {
  if (const auto* found = find(name)) return *found;
  fail(path_, fmt::format("tensor {}", printable(name)), "a model without it", did_you_mean(name, names()));
}

}  // namespace fwl
