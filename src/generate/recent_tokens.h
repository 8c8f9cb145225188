// The last tokens that a sampler keeps, for the repeat penalty and for decoding across calls.
#pragma once

#include "generate/sampler.h"

namespace fwl {

inline void remember(SamplerState& state, int64_t token) {
  auto& recent = state.recent;
  if (recent.size() >= 2 * recent_tokens) recent.erase(recent.begin(), recent.end() - recent_tokens);
  recent.push_back(token);
}

}  // namespace fwl
