#include "base/token_rows.h"

#include <ATen/Parallel.h>

#include "engine/products.h"
#include "engine/torch.h"

namespace fwl {
namespace {

at::Tensor joined_rows(const std::vector<at::Tensor>& parts) {
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

}  // namespace

TokenRows::TokenRows(std::vector<TokenSpan> spans) : spans_(std::move(spans)) {
  std::vector<at::Tensor> parts;
  int64_t rows = 0;
  for (const auto& span : spans_) {
    first_row_.push_back(rows);
    rows += span.tokens.numel();
    parts.push_back(span.tokens.flatten());
  }
  tokens_ = joined_rows(parts);
}

at::Tensor TokenRows::positions() const {
  std::vector<at::Tensor> parts;
  for (const auto& [tokens, state] : spans_) {
    const int64_t first = state->tokens_read - state->window_start;
    parts.push_back(at::arange(first, first + tokens.size(1), at::kLong).repeat({tokens.size(0)}));
  }
  return joined_rows(parts);
}

at::Tensor TokenRows::rows_of(size_t span, const at::Tensor& all) const {
  const auto& tokens = spans_[span].tokens;
  return all.narrow(0, first_row_[span], tokens.numel()).unflatten(0, tokens.sizes());
}

at::Tensor TokenRows::for_each_span(const std::function<at::Tensor(size_t)>& function) const {
  std::vector<at::Tensor> parts(spans_.size());
  const auto run = [&](int64_t begin, int64_t end) {
    for (auto span = static_cast<size_t>(begin); span < static_cast<size_t>(end); ++span)
      parts[span] = function(span).flatten(0, 1);
  };
  const auto count = static_cast<int64_t>(spans_.size());
  // Single tokens are too little work for several threads each: the threads divide the spans.
  const bool is_divided = tokens_.numel() == count && tokens_.is_cpu() && !at::GradMode::is_enabled();
  const auto precision = product_precision();
  if (is_divided)
    at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      const at::NoGradGuard no_grad;
      const PrecisionScope same(precision);
      run(begin, end);
    });
  else
    run(0, count);
  return joined_rows(parts);
}

}  // namespace fwl
