#include "sessions/session_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sessions/session_errors.h"

namespace fwl {
namespace {

int64_t unix_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Excludes all other processes, and threads, that lock the same folder.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : path_(folder + "/.lock"), file_(open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ < 0) fail_with_errno(path_, "open");
    if (flock(file_, LOCK_EX) != 0) {
      close(file_);
      fail_with_errno(path_, "lock");
    }
  }
  ~FolderLock() { close(file_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string path_;
  int file_;
};

struct LeaseText {
  std::string holder;
  int64_t expires = 0;  // in unix milliseconds
};

LeaseText read_lease(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  const auto holder = json.is_object() ? json.find("holder") : json.end();
  const auto expires = json.is_object() ? json.find("expires") : json.end();
  const bool is_whole = holder != json.end() && holder->is_string() && expires != json.end() && expires->is_number();
  if (!is_whole) return {};  // none, or half written by a server that was killed
  return {holder->get<std::string>(), expires->get<int64_t>()};
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

SessionLease::SessionLease(std::string path, LeaseOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  write("it is busy there; ask again later, or there");
}

SessionLease::~SessionLease() {
  try {
    const FolderLock lock(folder_of(path_));
    if (read_lease(path_).holder == options_.holder) unlink(path_.c_str());
  } catch (const std::exception&) {  // it will expire
  }
}

void SessionLease::renew() {
  if (std::chrono::steady_clock::now() - renewed_ < std::chrono::duration<double>(options_.seconds / 3)) return;
  write("this server was too slow to renew its lease");
}

void SessionLease::write(const char* what_if_lost) {
  const FolderLock lock(folder_of(path_));
  const auto held = read_lease(path_);
  if (!held.holder.empty() && held.holder != options_.holder && held.expires > unix_milliseconds())
    throw SessionLeased(
        error_line("session", "one that no other server uses", "one in use at " + held.holder, what_if_lost),
        held.holder);
  const auto expires = unix_milliseconds() + static_cast<int64_t>(options_.seconds * 1000);
  std::ofstream file(path_, std::ios::trunc);
  file << nlohmann::json{{"holder", options_.holder}, {"expires", expires}};
  if (!file.flush()) fail_with_errno(path_, "write");
  renewed_ = std::chrono::steady_clock::now();
}

}  // namespace fwl
