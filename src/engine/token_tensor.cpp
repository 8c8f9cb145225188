#include "engine/token_tensor.h"

#include "engine/torch.h"

namespace fwl {

at::Tensor token_tensor(const TokenView& tokens, int64_t first, int64_t count) {
  auto ids = at::empty({1, count}, at::kLong);
  tokens.read(first, std::span<int64_t>(ids.mutable_data_ptr<int64_t>(), static_cast<size_t>(count)));
  return ids;
}

}  // namespace fwl
