#include "head/head.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {

at::Tensor changed_bias(const at::Tensor& bias, const at::Tensor& change) {
  if (!change.defined()) return bias;
  return bias.defined() ? bias + change : change;
}

TokenPass Head::token_pass(const at::Tensor& hidden, const at::Tensor&) const {
  return {logits(hidden), {}};
}

at::Tensor Head::output_row(int64_t) const {
  TORCH_CHECK(false, "a head without mean rows has no rows of all tokens");
}

void check_head_input(const char* where, const Head& head, const at::Tensor& hidden, const at::Tensor& targets) {
  if (hidden.dim() != 2 || hidden.size(1) != head.width())
    fail(where, fmt::format("hidden states N,{}", head.width()), c10::str(hidden.sizes()),
         "the head belongs to a model of another width");
  if (targets.dim() != 1 || targets.size(0) != hidden.size(0))
    fail(where, fmt::format("{} targets", hidden.size(0)), c10::str(targets.sizes()));
  if (targets.scalar_type() != at::kLong) fail(where, "targets of type int64", c10::toString(targets.scalar_type()));
  if (targets.numel() == 0) return;
  const auto lowest = targets.min().item<int64_t>(), highest = targets.max().item<int64_t>();
  if (lowest < 0 || highest >= head.vocabulary_size())
    fail(where, fmt::format("targets in 0..{}", head.vocabulary_size() - 1),
         fmt::format("{}", lowest < 0 ? lowest : highest), "another tokenizer's ids?");
}

}  // namespace fwl
