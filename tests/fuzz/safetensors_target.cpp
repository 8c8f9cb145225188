#include <cstring>

#include "files/safetensors.h"
#include "files/safetensors_samples.h"
#include "fuzz/fuzz_target.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  const SafetensorsFile file("input.safetensors", std::as_bytes(std::span(bytes)));
  volatile std::byte touched{};
  for (const auto& tensor : file.tensors()) {
    (void)file.find(tensor.name);
    for (const auto byte : tensor.bytes) touched = byte;
  }
  (void)touched;
}

// The header ends at the last brace.
std::string repair(std::string bytes) {
  const auto brace = bytes.rfind('}');
  if (brace == std::string::npos || brace < 8) return bytes;
  const uint64_t length = brace - 7;
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

}  // namespace

FuzzTarget safetensors_target() {
  return {"safetensors", {sample_safetensors(), make_safetensors("{}      ", "")}, run, repair};
}

}  // namespace fwl
