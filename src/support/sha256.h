// SHA-256 of byte streams: the identity of tokenizers, token files, models and downloads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fwl {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* bytes, size_t count);
  void update(std::string_view text) { update(text.data(), text.size()); }
  Digest finish();  // the object must not be used afterwards

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest sha256(std::string_view bytes);
std::string to_hex(const Digest& digest);
std::optional<Digest> digest_from_hex(std::string_view text);  // nothing: not 64 digits in lower case

}  // namespace fwl
