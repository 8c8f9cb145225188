#include "store/adapter_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/checksum.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "files/remembered_hashes.h"
#include "files/self_checksum.h"
#include "support/error.h"
#include "support/fields.h"
#include "tokenizer/json_field.h"
#include "weights/tensor_files.h"
#include "weights/tensor_reader.h"
#include "weights/weight_source.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr const char* adapter_format = "fwl-adapter-1";

std::string inside(const std::string& folder, const char* name) {
  return (fs::path(folder) / name).string();
}

// Weights of an adapter's file by name; all must be there, and nothing else.
class AdapterWeights : public WeightSource {
 public:
  explicit AdapterWeights(const SafetensorsFile& file) : reader_(file, "an adapter") {}

  bool has(const std::string& name) const override { return reader_.has(name); }
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial&) override {
    return reader_.take_finite(name, shape, at::kFloat);
  }
  void expect_nothing_else() const { reader_.expect_nothing_else(); }

 private:
  TensorReader reader_;
};

// The weights hold their checksum, or the description does.
SafetensorsFile open_weights(const std::string& path, const AdapterDescription& description) {
  SafetensorsFile file(path);
  if (description.weights_hash.empty())
    file.expect_checksum("the weights of an adapter");
  else if (checksum_of_file(path, "sha256:") != description.weights_hash)
    fail(path, "weights " + description.weights_hash, "others", "the file is damaged");
  return file;
}

}  // namespace

void add_fields(Fields& fields, AdapterDescription& description) {
  fields.add("base.name", description.base_name, "file or folder of the base model");
  fields.add("base.hash", description.base_hash, "SHA-256 of its weights");
  fields.add("base.architecture", description.base_architecture, "its kind");
  fields.add("base.hidden_size", description.base_hidden_size, "size of its hidden states").range(1, 1 << 20);
  fields.add("weights_hash", description.weights_hash, "SHA-256 of weights that do not hold their checksum");
  fields.add("window_tokens", description.window_tokens, "the base reads windows of so many tokens").range(1, 1 << 30);
  fields.add("objective", description.objective, "what the memory was trained on");
  add_fields(fields, description.memory);
  add_fields(fields, description.blocks);
}

AdapterDescription read_adapter_description(const std::string& folder) {
  const auto path = inside(folder, "adapter.json");
  if (!fs::exists(path)) fail(folder, "an adapter folder with an adapter.json", "none there");
  auto json = parse_checked_json(path, "an adapter", MemoryMap(path).text());
  if (json_field<std::string>(path, json, "format", "") != adapter_format)
    fail(path, fmt::format("an adapter ({})", adapter_format), "something else",
         "of another version, or not an adapter");
  json.erase("format");
  json.erase("fwl_version");
  AdapterDescription description;
  Fields fields;
  add_fields(fields, description);
  fields.set_json(path, json);
  fields.check(path);
  return description;
}

std::string model_hash(const std::string& path, const ProgressReport& progress) {
  if (!fs::is_directory(path)) return remembered_hash_of_file(path, progress);
  std::vector<std::string> files = {inside(path, "config.json")};
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  std::sort(files.begin() + 1, files.end());
  Sha256 all;
  for (const auto& file : files) all.update(remembered_hash_of_file(file, progress));
  return "sha256:" + to_hex(all.finish());
}

void save_adapter(const NamedTensors& fast_parameters, const AdapterDescription& description,
                  const std::string& folder) {
  make_folder(folder);
  auto copy = description;
  Fields fields;
  add_fields(fields, copy);
  auto json = fields.to_json();
  json.erase("weights_hash");  // they hold their checksum
  json["format"] = adapter_format;
  json["fwl_version"] = FWL_VERSION;
  TensorMap tensors;
  for (const auto& [name, tensor] : fast_parameters) tensors[name] = tensor.detach();
  save_checked_tensors(tensors, inside(folder, "adapter.safetensors"),
                       {{"format", "pt"}, {"base", description.base_hash}});
  write_file_atomically(inside(folder, "adapter.json"), checked_json_text(std::move(json)));
}

SafetensorsFile open_adapter_weights(const std::string& folder) {
  return open_weights(inside(folder, "adapter.safetensors"), read_adapter_description(folder));
}

OpenedAdapter open_adapter(const std::string& folder, const std::string& base_path, const BaseModel& base,
                           const ProgressReport& progress) {
  OpenedAdapter opened;
  opened.description = read_adapter_description(folder);
  const auto hash = model_hash(base_path, progress);
  if (hash != opened.description.base_hash)
    fail(folder, fmt::format("the base {} ({})", opened.description.base_name, opened.description.base_hash),
         fmt::format("{} ({})", base_path, hash), "an adapter works only on the model that it was trained with");
  AdapterWeights weights(open_weights(inside(folder, "adapter.safetensors"), opened.description));
  opened.memory = opened.description.memory.make({base.hidden_size(), *base.head(), weights});
  opened.blocks = opened.description.blocks.make(base.blocks(), base.hidden_size(), weights);
  weights.expect_nothing_else();
  return opened;
}

}  // namespace fwl
