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

// Writes windows in order, and notes the checksum of every block that is complete.
class CacheWriter {
 public:
  CacheWriter(const std::string& path, const HiddenCacheKey& key) : path_(path), key_(key), done_(finished(path, key)) {
    if (done_.tokens == 0) note_finished(path, key, {});
    if (done_.tokens < key.tokens)
      file_.emplace(path, static_cast<uint64_t>(done_.tokens * key.width) * bytes_per_number);
  }

  int64_t done_tokens() const { return done_.tokens; }

  void append(const at::Tensor& window) {  // count,D in bf16
    file_->append(window.const_data_ptr(), window.nbytes());
    block_.update(window.const_data_ptr(), window.nbytes());
    done_.tokens += window.size(0);
    if (done_.tokens % block_tokens(key_) != 0 && done_.tokens != key_.tokens) return;
    file_->sync();
    done_.blocks.push_back(to_hex(std::exchange(block_, Sha256()).finish()));
    note_finished(path_, key_, done_);
  }

 private:
  std::string path_;
  HiddenCacheKey key_;
  Finished done_;
  std::optional<GrowingFile> file_;
  Sha256 block_;
};

at::Tensor window_hidden(const BaseModel& base, const TokenView& tokens, int64_t first, int64_t count) {
  const DiscardableWork until_the_next_window;
  auto state = base.new_state(1);
  const auto hidden = base.read(token_tensor(tokens, first, count), state);  // 1,count,D
  return hidden.squeeze(0).to(at::kCPU, at::kBFloat16).contiguous();
}

}  // namespace

FileLock fill_hidden_cache(const std::string& path, const HiddenCacheKey& key, const BaseModel& base,
                           const TokenView& tokens, RankGroup& ranks, const ProgressReport& progress) {
  const at::NoGradGuard no_grad;
  FileLock lock;
  std::optional<CacheWriter> writer;
  auto start = at::zeros({1}, at::kLong);
  if (ranks.is_first()) {
    lock = lock_cache(path, key);
    writer.emplace(path, key);
    start.fill_(writer->done_tokens());
  }
  ranks.broadcast(start, 0);
  const int64_t first_token = start.item<int64_t>();
  for (int64_t round = first_token; round < key.tokens; round += key.window_tokens * ranks.size()) {
    const auto count_of = [&](int64_t rank) {
      return std::clamp<int64_t>(key.tokens - round - rank * key.window_tokens, 0, key.window_tokens);
    };
    at::Tensor own;
    if (const int64_t count = count_of(ranks.rank()); count > 0)
      own = window_hidden(base, tokens, round + ranks.rank() * key.window_tokens, count);
    for (int64_t rank = 0; rank < ranks.size() && count_of(rank) > 0; ++rank) {
      const auto window = rank == ranks.rank() ? own : at::empty({count_of(rank), key.width}, at::kBFloat16);
      ranks.broadcast(window, rank);
      if (writer) writer->append(window);
    }
    if (writer && progress) progress({writer->done_tokens() - first_token, key.tokens - first_token, "tokens", {}});
    throw_if_interrupted();
  }
  if (ranks.is_first()) lock.share();
  ranks.barrier();
  return ranks.is_first() ? std::move(lock) : FileLock(path, LockKind::shared);
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
