#include "train/hidden_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/torch.h"
#include "files/atomic_file.h"
#include "files/growing_file.h"
#include "files/self_checksum.h"
#include "model/token_tensor.h"
#include "support/discardable.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

constexpr uint64_t bytes_per_number = 2;
constexpr int64_t windows_per_block = 16;  // synced and checked together

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

uint64_t block_bytes(const HiddenCacheKey& key) {
  return static_cast<uint64_t>(windows_per_block * key.window_tokens * key.width) * bytes_per_number;
}

int64_t block_tokens(const HiddenCacheKey& key) {
  return windows_per_block * key.window_tokens;
}

// What is on disk of the cache with this key.
struct Finished {
  int64_t tokens = 0;
  std::vector<std::string> blocks;  // checksums
};

Finished finished(const std::string& path, const HiddenCacheKey& key) {
  if (!std::filesystem::exists(notes_path(path)) || !std::filesystem::exists(path)) return {};
  const auto notes = parse_checked_json(notes_path(path), "a cache's notes", MemoryMap(notes_path(path)).text());
  if (notes.value("key", nlohmann::json()) != to_json(key)) return {};
  Finished found;
  notes.at("blocks").get_to(found.blocks);
  const auto blocks = static_cast<int64_t>(found.blocks.size());
  found.tokens = std::min(key.tokens, blocks * block_tokens(key));
  return found;
}

void note_finished(const std::string& path, const HiddenCacheKey& key, const Finished& now) {
  write_file_atomically(notes_path(path), checked_json_text({{"key", to_json(key)}, {"blocks", now.blocks}}));
}

std::vector<Digest> digests(const std::string& path, const std::vector<std::string>& texts) {
  std::vector<Digest> all;
  for (const auto& text : texts) {
    const auto digest = digest_from_hex(text);
    if (!digest) fail(notes_path(path), "checksums", "others", "remove it to make the cache anew");
    all.push_back(*digest);
  }
  return all;
}

// Nobody may change the cache while others read it. Whoever finds it finished needs no more than to read.
FileLock lock_cache(const std::string& path, const HiddenCacheKey& key) {
  if (auto lock = FileLock::try_take(path, LockKind::exclusive)) return std::move(*lock);
  if (auto lock = FileLock::try_take(path, LockKind::shared); lock && finished(path, key).tokens == key.tokens)
    return std::move(*lock);
  return FileLock(path);  // says who holds it
}

}  // namespace

FileLock fill_hidden_cache(const std::string& path, const HiddenCacheKey& key, const BaseModel& base,
                           const TokenView& tokens, const ProgressReport& progress) {
  const at::NoGradGuard no_grad;
  auto lock = lock_cache(path, key);
  auto done = finished(path, key);
  const int64_t start = done.tokens;
  if (start == 0) note_finished(path, key, {});
  std::optional<GrowingFile> file;
  if (start < key.tokens) file.emplace(path, static_cast<uint64_t>(start * key.width) * bytes_per_number);
  Sha256 block;
  for (int64_t first = start; first < key.tokens; first += key.window_tokens) {
    const int64_t count = std::min(key.window_tokens, key.tokens - first);
    const auto hidden = [&] {  // 1,count,D
      const DiscardableWork until_the_next_window;
      auto state = base.new_state(1);
      return base.read(token_tensor(tokens, first, count), state);
    }();
    const auto rounded = hidden.to(at::kCPU, at::kBFloat16).contiguous();
    file->append(rounded.const_data_ptr(), rounded.nbytes());
    block.update(rounded.const_data_ptr(), rounded.nbytes());
    done.tokens = first + count;
    if (done.tokens % block_tokens(key) == 0 || done.tokens == key.tokens) {
      file->sync();
      done.blocks.push_back(to_hex(std::exchange(block, Sha256()).finish()));
      note_finished(path, key, done);
    }
    if (progress) progress({done.tokens - start, key.tokens - start, "tokens", {}});
    throw_if_interrupted();
  }
  lock.share();
  return lock;
}

HiddenCache::HiddenCache(const std::string& path, const HiddenCacheKey& key, FileLock lock)
    : lock_(std::move(lock)), map_(path), key_(key) {
  const auto expected = static_cast<size_t>(key.tokens * key.width) * bytes_per_number;
  const auto known = finished(path, key);
  if (known.tokens != key.tokens || map_.size() != expected)
    fail(path, fmt::format("hidden states of {} tokens", key.tokens), "an incomplete file",
         "remove it to make it anew");
  blocks_ = BlockChecksums(path, map_.bytes(), block_bytes(key), digests(path, known.blocks));
}

at::Tensor HiddenCache::read(int64_t first, int64_t count) const {
  TORCH_CHECK(first >= 0 && count >= 0 && first + count <= key_.tokens);
  const auto offset = static_cast<uint64_t>(first * key_.width) * bytes_per_number;
  blocks_.expect_whole(offset, static_cast<uint64_t>(count * key_.width) * bytes_per_number);
  const auto* start = map_.bytes().data() + offset;
  auto* data = const_cast<std::byte*>(start);  // only read
  return at::from_blob(data, {count, key_.width}, at::kBFloat16).to(at::kFloat);
}

}  // namespace fwl
