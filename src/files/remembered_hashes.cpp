#include "files/remembered_hashes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "files/atomic_file.h"
#include "files/checksum.h"
#include "files/fetch.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "support/json.h"
#include "support/sha256.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

// A file that changed so recently could change again without a new time stamp.
constexpr int64_t settled_nanoseconds = 2'000'000'000;

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// All that says whether a file is still the same, as text; empty: no such file.
struct Stamp {
  std::string text;
  int64_t changed = 0;
};

Stamp stamp_of(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const int64_t modified = nanoseconds(facts.st_mtim), changed = nanoseconds(facts.st_ctim);
  return {fmt::format("{} {} {} {} {}", facts.st_dev, facts.st_ino, facts.st_size, modified, changed),
          std::max(modified, changed)};
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return nanoseconds(time);
}

// Ours, and nobody else may write to it.
bool is_private(const std::string& path, mode_t type) {
  struct stat facts;
  return lstat(path.c_str(), &facts) == 0 && (facts.st_mode & S_IFMT) == type && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct Place {
  std::string folder, file;
};

// One small file per path; none without a cache folder.
std::optional<Place> place_of(const std::string& path) {
  try {
    const auto folder = default_data_folder() + "/hashes";
    return Place{folder, folder + "/" + to_hex(sha256(fs::weakly_canonical(path).string())) + ".json"};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string remembered(const std::string& path, const std::string& stamp) {
  const auto place = place_of(path);
  if (stamp.empty() || !place || !is_private(place->folder, S_IFDIR) || !is_private(place->file, S_IFREG)) return {};
  try {
    const auto json = parse_json(place->file, MemoryMap(place->file).text());
    return json.value("stamp", "") == stamp ? json.value("hash", "") : std::string();
  } catch (const std::exception&) {
    return {};  // damaged: as if there were none
  }
}

void remember(const std::string& path, const std::string& stamp, const std::string& hash) {
  const auto place = place_of(path);
  if (!place) return;
  try {
    if (!fs::exists(place->folder)) {
      fs::create_directories(fs::path(place->folder).parent_path());
      if (mkdir(place->folder.c_str(), 0700) != 0) return;
    }
    if (!is_private(place->folder, S_IFDIR)) return;
    write_file_atomically(place->file, nlohmann::json{{"path", path}, {"stamp", stamp}, {"hash", hash}}.dump(
                                           -1, ' ', false, nlohmann::json::error_handler_t::replace));
    chmod(place->file.c_str(), 0600);
  } catch (const std::exception&) {
    return;  // a read-only or full disk: it is computed again the next time
  }
}

}  // namespace

std::string remembered_hash_of_file(const std::string& path, const ProgressReport& progress) {
  const auto before = stamp_of(path);
  if (auto known = remembered(path, before.text); !known.empty()) return known;
  const int64_t start = now();
  auto hash = checksum_of_file(path, "sha256:", progress);
  const bool is_settled = before.changed < start - settled_nanoseconds && stamp_of(path).text == before.text;
  if (!before.text.empty() && is_settled) remember(path, before.text, hash);
  return hash;
}

bool is_remembered(const std::string& path) {
  return !remembered(path, stamp_of(path).text).empty();
}

}  // namespace fwl
