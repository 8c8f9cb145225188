#include "device/far_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace fwl {
namespace {

constexpr size_t capacity = size_t{8} << 30;  // of addresses; bytes that are never written take no memory
constexpr size_t smallest_block = 64;

// The same pages twice: without access where tensors point to, with access for the device itself.
class FarMemory : public c10::Allocator {
 public:
  FarMemory() {
    const int file = memfd_create("far", MFD_CLOEXEC);
    TORCH_CHECK(file >= 0 && ftruncate(file, static_cast<off_t>(capacity)) == 0, "no memory for the far device");
    closed_ = map(file, PROT_NONE);
    open_ = map(file, PROT_READ | PROT_WRITE);
    close(file);
  }

  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::DeviceType::PrivateUse1, 0);
    if (bytes == 0) return {nullptr, device};
    const std::scoped_lock lock(mutex_);
    const size_t size = std::bit_ceil(std::max(bytes, smallest_block));
    auto& free = free_[size];
    size_t offset = used_;
    if (free.empty()) {
      TORCH_CHECK(used_ + size <= capacity, "the far device has no memory left");
      used_ += size;
    } else {
      offset = free.back();
      free.pop_back();
    }
    sizes_[offset] = size;
    char* address = closed_ + offset;
    return {address, address, &release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* target, const void* source, size_t bytes) const override {
    std::memcpy(opened(target), opened(source), bytes);
  }

  char* opened(const void* address) const { return open_ + (static_cast<const char*>(address) - closed_); }

 private:
  static char* map(int file, int access) {
    void* address = mmap(nullptr, capacity, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    TORCH_CHECK(address != MAP_FAILED, "no addresses for the far device");
    return static_cast<char*>(address);
  }

  static void release(void* address);

  char *closed_ = nullptr, *open_ = nullptr;
  std::mutex mutex_;
  size_t used_ = 0;
  std::map<size_t, size_t> sizes_;              // of blocks in use, by offset
  std::map<size_t, std::vector<size_t>> free_;  // offsets, by size
};

FarMemory& memory() {
  static auto* const never_destroyed = new FarMemory;  // tensors may outlive everything else
  return *never_destroyed;
}

void FarMemory::release(void* address) {
  auto& own = memory();
  const std::scoped_lock lock(own.mutex_);
  const auto found = own.sizes_.find(static_cast<size_t>(static_cast<char*>(address) - own.closed_));
  own.free_[found->second].push_back(found->first);
  own.sizes_.erase(found);
}

}  // namespace

c10::Allocator& far_memory() {
  return memory();
}

void* as_seen_by_the_device(const void* address) {
  return address ? memory().opened(address) : nullptr;
}

}  // namespace fwl
