// The tokens of one pass over several states, each at its own position and with its own number of tokens. Linear maps
// and norms see them as rows of one matrix; attention runs span by span.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "base/base_state.h"

namespace fwl {

struct TokenSpan {
  at::Tensor tokens;  // B,T: the next tokens of the state's sequences
  BaseState* state = nullptr;
};

class TokenRows {
 public:
  explicit TokenRows(std::vector<TokenSpan> spans);

  const std::vector<TokenSpan>& spans() const { return spans_; }
  const at::Tensor& tokens() const { return tokens_; }  // N, span after span
  at::Tensor positions() const;                         // N: counted from the start of each state's window

  // The rows of one span.   N,… -> B,T,…
  at::Tensor rows_of(size_t span, const at::Tensor& all) const;

  // Concatenates the results of the function for every span (B,T,…).   -> N,…
  at::Tensor for_each_span(const std::function<at::Tensor(size_t span)>& function) const;

 private:
  std::vector<TokenSpan> spans_;
  std::vector<int64_t> first_row_;  // of each span
  at::Tensor tokens_;
};

}  // namespace fwl
