#include "files/gguf.h"
#include "files/gguf_samples.h"
#include "files/quantized.h"
#include "fuzz/fuzz_target.h"

namespace fwl {
namespace {

// Uses everything that a reader of models uses: all metadata in all forms, and all tensors.
void run(std::string_view bytes) {
  const GgufFile file("input.gguf", std::as_bytes(std::span(bytes)));
  for (const auto& [key, value] : file.metadata()) {
    (void)gguf_cast<bool>(value);
    (void)gguf_cast<int64_t>(value);
    (void)gguf_cast<double>(value);
    (void)gguf_cast<std::vector<int64_t>>(value);
    (void)gguf_cast<std::vector<double>>(value);
    if (const auto texts = gguf_cast<std::vector<std::string_view>>(value))
      for (const auto text : *texts) (void)std::string(text);
  }
  (void)file.get_optional<std::string_view>("general.architecture");
  for (const auto& tensor : file.tensors()) {
    if (!can_dequantize(tensor.type)) continue;
    std::vector<float> values(static_cast<size_t>(tensor.values));
    dequantize_rows(tensor, 0, values);
  }
}

}  // namespace

FuzzTarget gguf_target() {
  return {"gguf", {sample_gguf(3), sample_gguf(2)}, run};
}

}  // namespace fwl
