#include "cli/model_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "cli/fetch_known.h"
#include "files/huggingface_folder.h"
#include "files/own_folder.h"
#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

bool is_adapter(const fs::path& path) {
  return fs::exists(path / "adapter.json");
}

bool is_run(const fs::path& path) {
  return fs::exists(path / "record.jsonl");
}

// The best model or adapter of a run, else the last; empty: none yet.
std::string best_of(const fs::path& run) {
  for (const char* name : {"best", "model"})
    if (fs::exists(run / name)) return (run / name).string();
  return {};
}

// True of "smollm2", not of "models/a.gguf".
bool is_bare_name(const std::string& name) {
  return name.find('/') == std::string::npos && !fs::path(name).has_extension();
}

const KnownData* known_model(const std::string& name) {
  for (const auto& data : known_data())
    if (data.name == name && data.files.front().name.ends_with(".gguf")) return &data;
  return nullptr;
}

std::vector<std::string> known_models() {
  std::vector<std::string> names;
  for (const auto& data : known_data())
    if (known_model(data.name)) names.push_back(data.name);
  return names;
}

std::string fetched(const KnownData& data, Console& console) {
  const auto result = fetch_known(data, default_data_folder(), console);
  console.note(fmt::format("{}: {}{}", data.name, result.path, result.was_there ? "" : " (downloaded)"));
  return result.path;
}

std::string best_of_or_fail(const std::string& flag, const std::string& run) {
  const auto best = best_of(run);
  if (best.empty())
    fail(flag, "a run with a model", run + ", which has none yet", "it was stopped early: continue it with --resume");
  return best;
}

// The path itself, or the best model of a run. Rejects adapters.
std::string model_in(const std::string& flag, const std::string& path, Console& console) {
  const auto found = is_run(path) ? best_of_or_fail(flag, path) : path;
  if (is_adapter(found))
    fail(flag, "a model", fmt::format("{}, an adapter", found),
         "pass it as --adapter, and the model that it was trained for as " + flag);
  if (found != path) console.note(fmt::format("{}: a run; opening {}", path, found));
  return found;
}

// Where adapters are found by name: those of the source tree, of a wheel, of an installation, and in the data folder.
std::vector<fs::path> adapter_folders() {
  const auto own = own_folder();
  return {fs::path(FWL_ADAPTERS), own / "adapters", own.parent_path() / "share/fwl/adapters",
          fs::path(default_data_folder()) / "adapters"};
}

std::vector<std::string> known_adapters() {
  std::vector<std::string> names;
  for (const auto& folder : adapter_folders())
    if (fs::is_directory(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (is_adapter(entry.path())) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string adapter_in(const std::string& path, Console& console) {
  const auto found = is_run(path) ? best_of_or_fail("--adapter", path) : path;
  const auto inner = fs::path(found) / "adapter";  // of a run that trained its base too
  const auto adapter = is_adapter(inner) ? inner.string() : found;
  if (!is_adapter(adapter)) {
    const bool is_model = fs::is_regular_file(adapter) || is_huggingface_folder(adapter);
    fail("--adapter", "the folder of an adapter (fwl attach)", adapter + (is_model ? ", a model" : ""),
         is_model ? "pass a model as --model" : "it has no adapter.json");
  }
  if (adapter != path) console.note(fmt::format("{}: a run; opening {}", path, adapter));
  return adapter;
}

}  // namespace

std::string find_model(const std::string& flag, const std::string& name, Console& console) {
  if (fs::exists(name)) return model_in(flag, name, console);
  if (const auto* data = known_model(name)) return fetched(*data, console);
  if (is_bare_name(name))
    fail(flag, fmt::format("a file, a folder or {}", fmt::join(known_models(), ", ")), fmt::format("'{}'", name),
         did_you_mean(name, known_models()));
  return name;
}

std::string find_adapter(const std::string& name, Console& console) {
  if (name.empty()) return name;
  if (fs::exists(name)) return adapter_in(name, console);
  for (const auto& folder : adapter_folders())
    if (is_bare_name(name) && is_adapter(folder / name)) {
      console.note(fmt::format("{}: {}", name, (folder / name).string()));
      return (folder / name).string();
    }
  const auto names = known_adapters();
  fail("--adapter", names.empty() ? "the folder of an adapter" : fmt::format("a folder or {}", fmt::join(names, ", ")),
       fmt::format("'{}'", name), did_you_mean(name, names));
}

std::vector<std::string> places_of(const std::string& name) {
  std::error_code error;
  if (fs::exists(name, error) || !is_bare_name(name)) return {name};
  std::vector<std::string> places;
  for (const auto& folder : adapter_folders()) places.push_back((folder / name).string());
  if (const auto* data = known_model(name))
    places.push_back((fs::path(default_data_folder()) / name / data->files.front().name).string());
  return places;
}

std::string find_tokenizer(const std::string& name, Console& console) {
  const auto* data = fs::exists(name) ? nullptr : known_model(name);
  return data ? fetched(*data, console) : name;
}

}  // namespace fwl
