#include "blocks/block_pass.h"

#include "engine/products.h"
#include "engine/torch.h"

namespace fwl {

at::Tensor BlockPass::at_block(int64_t block, const at::Tensor& input, const TokenRows& rows) const {
  const int64_t index = memory_.index_of(block);
  if (index < 0) return {};
  const auto features = memory_.features(index, input);  // N,R
  return rows.for_each_span([&](size_t span) {
    const auto own = rows.rows_of(span, features);  // B,T,R
    const auto found = weights_.find(rows.spans()[span].state);
    if (found == weights_.end()) return at::zeros({own.size(0), own.size(1), input.size(1)}, input.options());
    const auto output = product(own, found->second[static_cast<size_t>(index)]);  // B,T,D
    if (at::GradMode::is_enabled()) {
      if (index == 0) outputs_.clear();
      outputs_.push_back(output);
    }
    return output;
  });
}

BlockGradients BlockPass::gradients(const at::Tensor& hidden, const at::Tensor& hidden_gradient,
                                    const at::Tensor& token_weights, bool keeps_graph, bool is_second_order) const {
  auto inputs = weights_.begin()->second;
  const size_t blocks = inputs.size();
  inputs.insert(inputs.end(), outputs_.begin(), outputs_.end());
  const auto all = torch::autograd::grad({hidden}, inputs, {hidden_gradient}, keeps_graph, is_second_order);
  return {{all.begin(), all.begin() + static_cast<int64_t>(blocks)},
          {all.begin() + static_cast<int64_t>(blocks), all.end()},
          token_weights};
}

}  // namespace fwl
