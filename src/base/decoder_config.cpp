#include "base/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fwl {

const DecoderLayer& DecoderConfig::layer_kind(int64_t layer) const {
  static const DecoderLayer plain;
  return layer_kinds.empty() ? plain : layer_kinds[static_cast<size_t>(layer)];
}

int64_t DecoderConfig::widest_window() const {
  int64_t widest = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const int64_t window = layer_kind(layer).window_tokens;
    if (window == 0) return 0;
    widest = std::max(widest, window);
  }
  return widest;
}

void DecoderConfig::check() const {
  const auto where = architecture + " model";
  if (heads % kv_heads != 0)
    fail(where, "heads that are a multiple of kv heads", fmt::format("{} heads, {} kv heads", heads, kv_heads));
  for (const auto& rotary : rotaries)
    if (rotary.size % 2 != 0 || rotary.size > head_size || (rotary.size == 0 && head_size % 2 != 0))
      fail(where, fmt::format("an even number of rotated values, of {} in a head", head_size),
           std::to_string(rotary.size == 0 ? head_size : rotary.size));
}

}  // namespace fwl
