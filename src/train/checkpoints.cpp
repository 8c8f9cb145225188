#include "train/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/atomic_file.h"
#include "files/folder.h"
#include "support/error.h"
#include "support/json.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoint_format = "fwl-checkpoint-1";
constexpr std::string_view step_prefix = "step-";
constexpr const char* checkpoint_extension = ".safetensors";

}  // namespace

void Checkpoints::prepare() {
  make_folder(folder_);
  remove_stale_files(folder_, partial_mark);
}

// Names contain the step in ten digits, so that they sort by step.
std::vector<std::string> Checkpoints::sorted() const {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(step_prefix) && name.ends_with(checkpoint_extension)) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

std::optional<std::string> Checkpoints::latest() const {
  const auto paths = sorted();
  return paths.empty() ? std::nullopt : std::optional(paths.back());
}

std::optional<int64_t> Checkpoints::latest_step() const {
  const auto path = latest();
  if (!path) return std::nullopt;
  const auto name = fs::path(*path).stem().string();
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data() + step_prefix.size(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || path_of(step) != *path)
    fail(*path, "a checkpoint's name", "another", "a file that fwl has not written");
  return step;
}

std::string Checkpoints::path_of(int64_t step) const {
  return (fs::path(folder_) / fmt::format("{}{:010}{}", step_prefix, step, checkpoint_extension)).string();
}

void Checkpoints::save(int64_t step, const TensorMap& tensors, const nlohmann::json& notes) {
  const auto path = path_of(step);
  try {
    save_checked_tensors(tensors, path, {{"format", checkpoint_format}, {"notes", notes.dump()}});
  } catch (const UserError& error) {
    const auto previous = latest();
    throw UserError(
        fmt::format("{}; {}", error.what(),
                    previous ? "the previous checkpoint is whole: " + *previous : "no checkpoint before it"));
  }
  auto paths = sorted();
  for (size_t index = 0; index + static_cast<size_t>(keep_) < paths.size(); ++index) fs::remove(paths[index]);
}

nlohmann::json checkpoint_notes(const TensorReader& reader) {
  const auto& metadata = reader.metadata();
  const auto format = metadata.find("format"), notes = metadata.find("notes");
  if (format == metadata.end() || format->second != checkpoint_format || notes == metadata.end())
    fail(reader.path(), fmt::format("a checkpoint ({})", checkpoint_format), "something else",
         "not a checkpoint, or of another version");
  return parse_json(reader.path(), notes->second);
}

}  // namespace fwl
