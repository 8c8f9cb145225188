#include "files/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t buffer_bytes = 1 << 20;
constexpr size_t longest_kept_name = 200;  // of at most 255 letters, with the random ones
constexpr mode_t usual_mode = 0666;        // less the umask
constexpr mode_t mode_bits = 07777, group_bits = 0070;

std::string folder_of_target(const OutputTarget& target) {
  return std::filesystem::path(target.path).parent_path().string();
}

void sync_folder_of(const OutputTarget& target) {
  const auto folder = folder_of_target(target);
  const int handle = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;  // the rename is done; a folder that cannot be opened cannot be synced
  fsync(handle);
  close(handle);
}

std::string partial_name(const OutputTarget& target) {
  return std::filesystem::path(target.path).filename().string().substr(0, longest_kept_name) + partial_mark;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : AtomicFile(path, output_target(path)) {}

AtomicFile::AtomicFile(const std::string& path, OutputTarget target)
    : path_(path),
      target_(std::move(target)),
      file_(path, folder_of_target(target_), partial_name(target_),
            target_.known ? target_.known->st_mode & usual_mode : usual_mode) {
  remove_stale_files(folder_of_target(target_), partial_name(target_));
  buffer_.reserve(buffer_bytes);
}

AtomicFile::AtomicFile() : file_("a temporary file in " + temporary_folder(), temporary_folder()) {
  buffer_.reserve(buffer_bytes);
}

void AtomicFile::write(const void* bytes, size_t count) {
  if (buffer_.size() + count > buffer_bytes) flush();
  if (count >= buffer_bytes) {
    file_.write_at(size_, bytes, count);
  } else {
    const auto* text = static_cast<const char*>(bytes);
    buffer_.insert(buffer_.end(), text, text + count);
  }
  size_ += count;
}

void AtomicFile::flush() {
  file_.write_at(size_ - buffer_.size(), buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write_at(uint64_t offset, const void* bytes, size_t count) {
  flush();
  file_.write_at(offset, bytes, count);
}

// Only root can give a file away. A file that cannot keep its group is not for the group that it gets instead.
void AtomicFile::keep_mode_and_owner() {
  if (!target_.known) return;
  auto mode = target_.known->st_mode & mode_bits;
  const bool has_owner = fchown(file_.descriptor(), target_.known->st_uid, target_.known->st_gid) == 0;
  if (!has_owner && fchown(file_.descriptor(), static_cast<uid_t>(-1), target_.known->st_gid) != 0) mode &= ~group_bits;
  if (fchmod(file_.descriptor(), mode) != 0) fail_with_errno(path_, "write");
}

void AtomicFile::commit() {
  flush();
  if (path_.empty()) return;
  keep_mode_and_owner();
  if (fsync(file_.descriptor()) != 0) fail_with_errno(path_, "flush to disk");
  file_.rename_to(target_.path);
  sync_folder_of(target_);
}

MemoryMap AtomicFile::map() const {
  return {file_.descriptor(), path_.empty() ? "a temporary file" : path_};
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace fwl
