#include "files/checksum.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

#include "files/memory_map.h"
#include "support/interrupt.h"

namespace fwl {

struct Checksum::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Checksum::Checksum(std::string_view published)
    : algorithm_(published.substr(0, published.find(':'))), context_(std::make_unique<Context>()) {
  const auto* method = EVP_get_digestbyname(algorithm_.c_str());
  if (!method || EVP_DigestInit_ex(context_->evp, method, nullptr) != 1)
    throw std::runtime_error(algorithm_ + " is not available in this OpenSSL");
}
Checksum::~Checksum() = default;

void Checksum::update(const void* bytes, size_t count) {
  EVP_DigestUpdate(context_->evp, bytes, count);
}

std::string Checksum::finish() {
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->evp, digest.data(), &size);
  constexpr char digits[] = "0123456789abcdef";
  auto text = algorithm_ + ":";
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

std::string checksum_of_file(const std::string& path, std::string_view published, const ProgressReport& progress) {
  const MemoryMap map(path);
  Checksum checksum(published);
  constexpr size_t block_bytes = 1 << 22;
  for (size_t done = 0; done < map.size();) {
    throw_if_interrupted();
    const auto block = map.text().substr(done, block_bytes);
    checksum.update(block.data(), block.size());
    map.release_pages(done, block.size());
    done += block.size();
    if (progress) progress({static_cast<int64_t>(done), static_cast<int64_t>(map.size()), "bytes", {}});
  }
  return checksum.finish();
}

}  // namespace fwl
