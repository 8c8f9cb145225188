#include "head/sliced_softmax.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "engine/products.h"
#include "engine/torch.h"
#include "head/tiled_softmax.h"

namespace fwl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

// What the passes need of a head; a plain value, so that autograd can keep its parts.
struct SlicedHead {
  Matrix weight;
  at::Tensor bias;
  int64_t block_bytes;

  int64_t slice_rows() const {
    const int64_t row_bytes = weight.columns() * static_cast<int64_t>(sizeof(float));
    return std::clamp<int64_t>(block_bytes / row_bytes, 1, weight.rows());
  }
  int64_t block_tokens() const {
    return std::max<int64_t>(16, block_bytes / (slice_rows() * static_cast<int64_t>(sizeof(float))));
  }

  // Calls action for every slice of the vocabulary, from `first` on, with every block of tokens, from `start` on.
  // rows: words,D   logits: words,count
  void for_each_slice(const at::Tensor& hidden,
                      const std::function<void(int64_t start, int64_t first, const at::Tensor& rows,
                                               at::Tensor& logits)>& action) const {
    for (int64_t start = 0; start < hidden.size(0); start += block_tokens()) {
      const auto block = hidden.slice(0, start, start + block_tokens());
      for (int64_t first = 0; first < weight.rows(); first += slice_rows()) {
        const int64_t words = std::min(slice_rows(), weight.rows() - first);
        const auto rows = weight.narrow(first, words).dequantized();
        auto logits = at::empty({words, block.size(0)}, hidden.options());
        product_into(logits, rows, block.t());
        if (bias.defined()) logits.add_(bias.narrow(0, first, words).unsqueeze(1));
        action(start, first, rows, logits);
      }
    }
  }
};

// The gradient with respect to the hidden states, for upstream l on the losses and u on their gradients. With
// probabilities p and q = u E^T: w = p (q - <p,q> + l) - l e, hidden += w E; <p,q> is known from the forward pass.
at::Tensor run_backward(const SlicedHead& head, const at::Tensor& hidden, const at::Tensor& targets,
                        const at::Tensor& log_sums, const at::Tensor& gradient, const at::Tensor& l,
                        const at::Tensor& u) {
  const auto target_rows = head.weight.select_rows(targets);     // N,D
  const auto shift = l - (u * (gradient + target_rows)).sum(1);  // N
  auto grad_hidden = at::zeros(hidden.sizes(), hidden.options());
  head.for_each_slice(hidden, [&](int64_t start, int64_t, const at::Tensor& rows, at::Tensor& logits) {
    const int64_t count = logits.size(1);
    const auto of_block = [&](const at::Tensor& all) { return all.narrow(0, start, count); };
    logits.sub_(of_block(log_sums)).exp_();
    auto weights = at::empty_like(logits);
    product_into(weights, rows, of_block(u).t());
    weights.add_(of_block(shift)).mul_(logits);
    auto part = of_block(grad_hidden);
    product_into(part, weights.t(), rows, 1);
  });
  return grad_hidden.sub_(target_rows * l.unsqueeze(1));
}

class SlicedSoftmax : public torch::autograd::Function<SlicedSoftmax> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& rows, int64_t type,
                               const OptionalTensor& bias, const at::Tensor& targets, int64_t block_bytes) {
    const auto head = head_of(rows, type, hidden.size(1), bias.value_or(at::Tensor()), block_bytes);
    auto [losses, log_sums, gradient] = tiled_softmax(hidden, head.weight, head.bias, targets, true, block_bytes);
    context->save_for_backward({hidden, rows, head.bias, targets, log_sums, gradient});
    context->saved_data["type"] = type;
    context->saved_data["block_bytes"] = block_bytes;
    context->set_materialize_grads(false);
    return {losses, gradient};
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &hidden = saved[0], &gradient = saved[5];
    at::Tensor grad_hidden;
    if (upstreams[1].defined()) {
      const auto head = head_of(saved[1], context->saved_data["type"].toInt(), hidden.size(1), saved[2],
                                context->saved_data["block_bytes"].toInt());
      const auto l = upstreams[0].defined() ? upstreams[0] : at::zeros({hidden.size(0)}, hidden.options());
      grad_hidden = run_backward(head, hidden.contiguous(), saved[3], saved[4], gradient, l, upstreams[1]);
    } else if (upstreams[0].defined()) {
      grad_hidden = gradient * upstreams[0].unsqueeze(1);
    }
    return {grad_hidden, {}, {}, {}, {}, {}};
  }

 private:
  static SlicedHead head_of(const at::Tensor& rows, int64_t type, int64_t columns, const at::Tensor& bias,
                            int64_t block_bytes) {
    return {Matrix(rows, static_cast<GgufType>(type), columns), bias, block_bytes};
  }
};

variable_list sliced_softmax(const at::Tensor& hidden, const Matrix& weight, const at::Tensor& bias,
                             const at::Tensor& targets, const HeadOptions& options) {
  return SlicedSoftmax::apply(hidden, weight.quantized_rows(), static_cast<int64_t>(weight.type()),
                              bias.defined() ? OptionalTensor(bias) : std::nullopt, targets, options.block_bytes);
}

}  // namespace

at::Tensor sliced_softmax_loss(const at::Tensor& hidden, const Matrix& weight, const at::Tensor& bias,
                               const at::Tensor& targets, const HeadOptions& options) {
  const bool wants_gradient = at::GradMode::is_enabled() && hidden.requires_grad();
  if (wants_gradient) return sliced_softmax(hidden, weight, bias, targets, options)[0];
  return tiled_softmax(hidden, weight, bias, targets, false, options.block_bytes).losses;
}

LossAndGradient sliced_softmax_loss_and_gradient(const at::Tensor& hidden, const Matrix& weight, const at::Tensor& bias,
                                                 const at::Tensor& targets, const HeadOptions& options) {
  const auto results = sliced_softmax(hidden, weight, bias, targets, options);
  return {results[0], results[1]};
}

}  // namespace fwl
