#include "evaluate/statistics_file.h"

#include <filesystem>

#include "engine/torch.h"
#include "files/folder.h"
#include "support/error.h"
#include "weights/tensor_reader.h"

namespace fwl {
namespace {

constexpr const char* statistics_key = "made_from";

std::vector<at::Tensor> read_statistics(const std::string& path, const std::string& key, const LanguageModel& model) {
  TensorReader reader(path, "gradient statistics");
  const auto found = reader.metadata().find(statistics_key);
  if (found == reader.metadata().end() || found->second != key) return {};
  std::vector<at::Tensor> squares;
  for (const auto& [name, parameter] : model.parameters())
    squares.push_back(reader.take_finite(name, parameter.sizes(), parameter.scalar_type()));
  return squares;
}

}  // namespace

std::vector<at::Tensor> kept_statistics(const std::string& path, const std::string& key, const LanguageModel& model,
                                        const std::function<std::vector<at::Tensor>()>& make) {
  if (std::filesystem::exists(path)) {
    try {
      if (auto known = read_statistics(path, key, model); !known.empty()) return known;
    } catch (const UserError&) {  // damaged: computed again
    }
  }
  const auto made = make();
  TensorMap tensors;
  size_t index = 0;
  for (const auto& [name, parameter] : model.parameters()) tensors[name] = made[index++];
  make_folder(std::filesystem::path(path).parent_path().string());
  save_checked_tensors(tensors, path, {{statistics_key, key}});
  return made;
}

}  // namespace fwl
