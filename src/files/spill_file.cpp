#include "files/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t buffer_bytes = 1 << 20;

}  // namespace

SpillFile::SpillFile(const std::string& folder) : folder_(folder.empty() ? "." : folder) {
  auto path = folder_ + "/.fwl-spill-XXXXXX";
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) fail_with_errno(folder_, "create a temporary file in this folder");
  unlink(path.c_str());
}

SpillFile::~SpillFile() {
  close(file_);
}

void SpillFile::write(const void* bytes, size_t count) {
  const auto* text = static_cast<const char*>(bytes);
  buffer_.insert(buffer_.end(), text, text + count);
  size_ += count;
  if (buffer_.size() >= buffer_bytes) flush();
}

void SpillFile::flush() {
  const char* bytes = buffer_.data();
  for (size_t left = buffer_.size(); left > 0;) {
    const auto written = ::write(file_, bytes, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno(folder_, "write a temporary file in this folder");
    bytes += written;
    left -= static_cast<size_t>(written);
  }
  buffer_.clear();
}

void SpillFile::replay(const std::function<void(std::span<const char>)>& sink) {
  flush();
  std::vector<char> block(buffer_bytes);
  for (uint64_t done = 0; done < size_;) {
    const auto count = pread(file_, block.data(), block.size(), static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_with_errno(folder_, "read back a temporary file in this folder");
    sink({block.data(), static_cast<size_t>(count)});
    done += static_cast<uint64_t>(count);
  }
}

}  // namespace fwl
