#include "train/hidden_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/torch.h"
#include "files/atomic_file.h"
#include "files/growing_file.h"
#include "model/token_tensor.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/json.h"

namespace fwl {
namespace {

constexpr uint64_t bytes_per_number = 2;
constexpr int64_t windows_per_sync = 16;

std::string notes_path(const std::string& path) {
  return path + ".json";
}

nlohmann::json to_json(const HiddenCacheKey& key) {
  return {{"base_hash", key.base_hash},
          {"data_hash", key.data_hash},
          {"tokens", key.tokens},
          {"width", key.width},
          {"window_tokens", key.window_tokens}};
}

// How many positions of this very cache are on disk; those of another one do not count.
int64_t finished_tokens(const std::string& path, const HiddenCacheKey& key) {
  if (!std::filesystem::exists(notes_path(path)) || !std::filesystem::exists(path)) return 0;
  auto notes = parse_json(notes_path(path), MemoryMap(notes_path(path)).text());
  if (!notes.is_object() || !notes.contains("done") || !notes["done"].is_number_integer()) return 0;
  const auto done = notes["done"].get<int64_t>();
  notes.erase("done");
  const bool is_same = notes == to_json(key) && done >= 0 && done <= key.tokens;
  return is_same && (done == key.tokens || done % key.window_tokens == 0) ? done : 0;
}

void note_finished(const std::string& path, const HiddenCacheKey& key, int64_t done) {
  auto notes = to_json(key);
  notes["done"] = done;
  write_file_atomically(notes_path(path), notes.dump(2) + "\n");
}

}  // namespace

void fill_hidden_cache(const std::string& path, const HiddenCacheKey& key, const BaseModel& base,
                       const TokenView& tokens, const ProgressReport& progress) {
  const at::NoGradGuard no_grad;
  const int64_t finished = finished_tokens(path, key);
  if (finished == key.tokens) return;
  GrowingFile file(path, static_cast<uint64_t>(finished * key.width) * bytes_per_number);
  if (finished == 0) note_finished(path, key, 0);
  int64_t windows = 0;
  for (int64_t first = finished; first < key.tokens; first += key.window_tokens) {
    const int64_t count = std::min(key.window_tokens, key.tokens - first);
    auto state = base.new_state(1);
    const auto hidden = base.read(token_tensor(tokens, first, count), state);  // 1,count,D
    const auto rounded = hidden.to(at::kCPU, at::kBFloat16).contiguous();
    file.append(rounded.const_data_ptr(), rounded.nbytes());
    const bool is_last = first + count == key.tokens;
    if (++windows % windows_per_sync == 0 || is_last) {
      file.sync();
      note_finished(path, key, first + count);
    }
    if (progress) progress({first + count - finished, key.tokens - finished, "tokens", {}});
    throw_if_interrupted();
  }
}

HiddenCache::HiddenCache(const std::string& path, const HiddenCacheKey& key) : map_(path), key_(key) {
  const auto expected = static_cast<size_t>(key.tokens * key.width) * bytes_per_number;
  if (finished_tokens(path, key) != key.tokens || map_.size() != expected)
    fail(path, fmt::format("hidden states of {} tokens", key.tokens), "an incomplete file",
         "remove it to make it anew");
}

at::Tensor HiddenCache::read(int64_t first, int64_t count) const {
  TORCH_CHECK(first >= 0 && count >= 0 && first + count <= key_.tokens);
  const auto* start = map_.bytes().data() + static_cast<uint64_t>(first * key_.width) * bytes_per_number;
  auto* data = const_cast<std::byte*>(start);  // only read
  return at::from_blob(data, {count, key_.width}, at::kBFloat16).to(at::kFloat);
}

}  // namespace fwl
