#include "model/token_tensor.h"

#include <cmath>

#include "engine/torch.h"

namespace fwl {

at::Tensor token_tensor(const TokenView& tokens, int64_t first, int64_t count) {
  auto ids = at::empty({1, count}, at::kLong);
  tokens.read(first, std::span<int64_t>(ids.mutable_data_ptr<int64_t>(), static_cast<size_t>(count)));
  return ids;
}

at::Tensor zipf_tokens(int64_t rows, int64_t tokens, int64_t vocabulary_size) {
  const double range = std::log(static_cast<double>(vocabulary_size));
  const auto ranks = (at::rand({rows, tokens}, at::kDouble) * range).exp() - 1;
  return ranks.to(at::kLong).clamp(0, vocabulary_size - 1);
}

}  // namespace fwl
