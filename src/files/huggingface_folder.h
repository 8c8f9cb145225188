// Reads a Hugging Face model folder: config.json with one safetensors file, or several shards and their index.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "files/safetensors.h"

namespace fwl {

class HuggingFaceFolder {
 public:
  explicit HuggingFaceFolder(const std::string& path);
  ~HuggingFaceFolder();
  HuggingFaceFolder(HuggingFaceFolder&&) noexcept;
  HuggingFaceFolder& operator=(HuggingFaceFolder&&) noexcept;

  const std::string& path() const { return path_; }
  const nlohmann::json& config() const { return *config_; }  // an object
  const std::vector<SafetensorsFile>& shards() const { return shards_; }

  std::vector<std::string> names() const;               // of all tensors, sorted
  const TensorView* find(std::string_view name) const;  // null: absent
  const TensorView& tensor(std::string_view name) const;

 private:
  void open_shards();

  std::string path_;
  std::unique_ptr<nlohmann::json> config_;
  std::vector<SafetensorsFile> shards_;
  std::map<std::string, const TensorView*, std::less<>> tensors_;
};

bool is_huggingface_folder(const std::string& path);  // it has a config.json

// The weight_map of a model.safetensors.index.json: the shard of every tensor. Shard names are plain file names.
std::map<std::string, std::string> parse_shard_index(const std::string& where, std::string_view json);

}  // namespace fwl
