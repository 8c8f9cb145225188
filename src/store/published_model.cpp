#include "store/published_model.h"

#include <filesystem>

#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/memory_map.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

bool holds_weights(const fs::path& file) {
  const auto name = file.filename().string();
  return file.extension() == ".safetensors" || file.extension() == ".bin" || name.ends_with(".index.json");
}

}  // namespace

void save_published_model(const BaseModel& base, const std::string& source, const std::string& folder) {
  make_folder(folder);
  for (const auto& entry : fs::directory_iterator(source))
    if (entry.is_regular_file() && !holds_weights(entry.path()))
      write_file_atomically((fs::path(folder) / entry.path().filename()).string(),
                            MemoryMap(entry.path().string()).text());
  TensorMap tensors;
  for (const auto& [name, tensor] : base.parameters()) tensors[name] = tensor.detach();
  save_checked_tensors(tensors, (fs::path(folder) / "model.safetensors").string(), {{"format", "pt"}});
}

}  // namespace fwl
