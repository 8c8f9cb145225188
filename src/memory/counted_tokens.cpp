#include "memory/counted_tokens.h"

#include <algorithm>

#include "engine/torch.h"

namespace fwl {

bool has_uncounted(const at::Tensor& weights) {
  return weights.defined() && (weights == 0).any().item<bool>();
}

CountedTokens counted_tokens(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights) {
  const auto is_counted = weights > 0;
  const auto counts = is_counted.sum(1).cpu();
  CountedTokens counted;
  counted.lengths.assign(counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.size(0));
  if (!has_uncounted(weights)) {  // nothing to move
    counted.hidden = hidden;
    counted.targets = targets;
    counted.weights = weights;
    counted.order = at::arange(targets.size(1), targets.options()).expand(targets.sizes());
    return counted;
  }
  const int64_t longest = *std::max_element(counted.lengths.begin(), counted.lengths.end());
  counted.order = at::argsort(is_counted.logical_not().to(at::kInt), true, 1, false).narrow(1, 0, longest);
  counted.weights = weights.gather(1, counted.order);
  counted.targets = targets.gather(1, counted.order).masked_fill(counted.weights == 0, 0);
  const auto rows = counted.order.unsqueeze(2).expand({-1, -1, hidden.size(2)});
  counted.hidden = hidden.gather(1, rows).masked_fill((counted.weights == 0).unsqueeze(2), 0);
  return counted;
}

at::Tensor CountedTokens::losses_in_place(const at::Tensor& losses, at::IntArrayRef shape) const {
  if (!losses.defined()) return losses;
  const auto scored = losses.masked_fill(weights == 0, 0);
  return at::zeros(shape, losses.options()).scatter(1, order, scored);
}

}  // namespace fwl
