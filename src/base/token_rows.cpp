#include "base/token_rows.h"

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
  std::vector<at::Tensor> parts;
  for (size_t span = 0; span < spans_.size(); ++span) parts.push_back(function(span).flatten(0, 1));
  return joined_rows(parts);
}

}  // namespace fwl
