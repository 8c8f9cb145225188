#include "files/spill_file.h"

#include <unistd.h>

#include <cerrno>

#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t spill_bytes = 1 << 20;

}  // namespace

SpillFile::SpillFile(const std::string& folder)
    : folder_(folder.empty() ? "." : folder), file_("a temporary file in " + folder_, folder_) {}

void SpillFile::write(const void* bytes, size_t count) {
  const auto* text = static_cast<const char*>(bytes);
  buffer_.insert(buffer_.end(), text, text + count);
  size_ += count;
  if (buffer_.size() >= spill_bytes) flush();
}

void SpillFile::flush() {
  file_.write_at(size_ - buffer_.size(), buffer_.data(), buffer_.size());
  buffer_.clear();
}

void SpillFile::replay(const std::function<void(std::span<const char>)>& sink) {
  flush();
  std::vector<char> block(spill_bytes);
  for (uint64_t done = 0; done < size_;) {
    const auto count = pread(file_.descriptor(), block.data(), block.size(), static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_with_errno(folder_, "read back a temporary file in this folder");
    sink({block.data(), static_cast<size_t>(count)});
    done += static_cast<uint64_t>(count);
  }
}

}  // namespace fwl
