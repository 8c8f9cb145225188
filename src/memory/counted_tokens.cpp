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

at::Tensor CountedTokens::in_place(const at::Tensor& values, int64_t tokens) const {
  if (!values.defined()) return values;
  auto is_padding = weights == 0;
  auto places = order;
  auto shape = values.sizes().vec();
  shape[1] = tokens;
  if (values.dim() == 3) {
    is_padding = is_padding.unsqueeze(2);
    places = places.unsqueeze(2).expand_as(values);
  }
  return at::zeros(shape, values.options()).scatter(1, places, values.masked_fill(is_padding, 0));
}

}  // namespace fwl
