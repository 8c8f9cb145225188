#include "base/base_state.h"

#include "engine/torch.h"

namespace fwl {

BaseState BaseState::clone() const {
  BaseState copy(*this);
  for (auto& tensor : copy.cache) tensor = tensor.defined() ? tensor.clone() : tensor;
  if (recent.defined()) copy.recent = recent.clone();
  return copy;
}

size_t BaseState::bytes() const {
  size_t total = recent.defined() ? recent.nbytes() : 0;
  for (const auto& tensor : cache)
    if (tensor.defined()) total += tensor.nbytes();
  return total;
}

}  // namespace fwl
