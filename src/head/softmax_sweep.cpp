#include "head/softmax_sweep.h"

#include <algorithm>
#include <optional>

#include "engine/products.h"
#include "engine/softmax_columns.h"
#include "engine/torch.h"
#include "head/tiled_softmax.h"

namespace fwl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

OptionalTensor if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : std::nullopt;
}

struct Range {
  int64_t start, count;
};

// Vocabulary ranges that hold any probability above the threshold, merged into as few ranges as possible.
std::vector<Range> significant_ranges(const at::Tensor& probabilities, double skip_below) {
  const int64_t words = probabilities.size(0);
  constexpr int64_t width = 256;
  if (skip_below <= 0 || words <= width) return {{0, words}};
  const int64_t whole = words / width;
  const auto maxima = probabilities.narrow(0, 0, whole * width).view({whole, -1}).amax(1).cpu();
  const auto is_significant = at::ge(maxima, skip_below).contiguous();
  const bool* flags = is_significant.const_data_ptr<bool>();
  std::vector<Range> ranges;
  const auto append = [&](int64_t start, int64_t count) {
    if (!ranges.empty() && ranges.back().start + ranges.back().count == start)
      ranges.back().count += count;
    else
      ranges.push_back({start, count});
  };
  for (int64_t block = 0; block < whole; ++block)
    if (flags[block]) append(block * width, width);
  if (whole * width < words) append(whole * width, words - whole * width);
  return ranges;
}

// One pass over the tokens in blocks, with the block of logits as its only large buffer. In a block, the vocabulary is
// along rows and tokens along columns.
class Sweep {
 public:
  Sweep(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& targets,
        const HeadOptions& options)
      : hidden_(hidden.contiguous()),
        weight_(weight_operand(weight)),
        bias_(bias),
        targets_(targets),
        options_(options) {
    block_tokens_ = std::min(tokens_per_block(weight.size(0), hidden, options), std::max<int64_t>(1, hidden.size(0)));
    buffer_ = at::empty({weight.size(0) * block_tokens_}, hidden.options());
  }

  int64_t tokens() const { return hidden_.size(0); }

  // Calls action(start, count, probabilities) for each block, after writing the losses if they are wanted.
  template <class Action>
  void run(at::Tensor* losses, Action action) {
    for (int64_t start = 0; start < tokens(); start += block_tokens_) {
      const int64_t count = std::min(block_tokens_, tokens() - start), words = weight_.size(0);
      auto logits = buffer_.narrow(0, 0, words * count).view({words, count});  // V,count
      product_into(logits, weight_, hidden_.narrow(0, start, count).t());
      const auto target = targets_.narrow(0, start, count);
      const auto target_logit = losses ? logits.gather(0, target.unsqueeze(0)).squeeze(0) : at::Tensor();
      const auto log_sum = softmax_columns_(logits, bias_);
      if (losses) {
        auto loss = log_sum - target_logit;
        if (bias_.defined()) loss -= bias_.index_select(0, target);
        losses->narrow(0, start, count).copy_(loss);
      }
      words_ = significant_ranges(logits, options_.skip_probability_below);
      action(start, count, logits);
    }
  }

  // The significant ranges, divided so that a block's part stays in the CPU cache.
  std::vector<Range> narrow_stretches() const {
    constexpr int64_t widest = 4096;
    std::vector<Range> stretches;
    for (const auto& [start, count] : words_)
      for (int64_t done = 0; done < count; done += widest)
        stretches.push_back({start + done, std::min(widest, count - done)});
    return stretches;
  }

  // out = factors^T @ weight, over the significant ranges.   factors: V,count
  void multiply_by_weight(at::Tensor out, const at::Tensor& factors) const {
    double keep = 0;
    for (const auto& [start, count] : words_) {
      product_into(out, factors.narrow(0, start, count).t(), weight_.narrow(0, start, count), keep);
      keep = 1;
    }
    if (words_.empty()) out.zero_();
  }

  // grad_weight += factors @ rows, over the significant ranges.   rows: count,D
  void add_outer_products(at::Tensor& grad_weight, const at::Tensor& factors, const at::Tensor& rows) const {
    for (const auto& [start, count] : words_) {
      auto slice = grad_weight.narrow(0, start, count);
      product_into(slice, factors.narrow(0, start, count), rows, 1);
    }
  }

 private:
  at::Tensor hidden_, weight_, bias_, targets_;
  HeadOptions options_;
  int64_t block_tokens_ = 0;
  at::Tensor buffer_;
  std::vector<Range> words_;
};

// Accumulates the gradients of weight and bias for losses with the given upstream (N), block by block.
struct ParameterGradients {
  at::Tensor weight, bias;

  ParameterGradients(bool wants_weight, bool wants_bias, const at::Tensor& like_weight) {
    if (wants_weight) weight = at::zeros_like(like_weight, at::MemoryFormat::Contiguous);
    if (wants_bias) bias = at::zeros({like_weight.size(0)}, like_weight.options());
  }

  void add_block(const Sweep& sweep, const at::Tensor& probabilities, const at::Tensor& rows,
                 const at::Tensor& upstream) {
    if (weight.defined()) sweep.add_outer_products(weight, probabilities, rows * upstream.unsqueeze(1));
    if (bias.defined()) bias.addmv_(probabilities, upstream);
  }

  void subtract_targets(const at::Tensor& targets, const at::Tensor& rows, const at::Tensor& upstream) {
    if (weight.defined()) weight.index_add_(0, targets, rows, -1);
    if (bias.defined()) bias.index_add_(0, targets, upstream, -1);
  }
};

class SoftmaxLoss : public torch::autograd::Function<SoftmaxLoss> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const OptionalTensor& given_bias, const at::Tensor& targets,
                            const OptionalTensor& expected_upstream, HeadOptions options) {
    const auto bias = given_bias.value_or(at::Tensor());
    auto losses = at::empty({hidden.size(0)}, hidden.options());
    Sweep sweep(hidden, weight, bias, targets, options);
    // The probabilities are available now, so compute the gradients now: of the hidden states for an upstream of one,
    // of the parameters for the expected upstream.
    auto grad_hidden = at::empty(hidden.sizes(), hidden.options());
    const bool wants_bias = bias.defined() && bias.requires_grad();
    ParameterGradients gradients(weight.requires_grad(), wants_bias, weight);
    const auto upstream = expected_upstream ? expected_upstream->detach().to(hidden.scalar_type())
                                            : at::ones({hidden.size(0)}, hidden.options());
    sweep.run(&losses, [&](int64_t start, int64_t count, at::Tensor& probabilities) {
      sweep.multiply_by_weight(grad_hidden.narrow(0, start, count), probabilities);
      gradients.add_block(sweep, probabilities, hidden.narrow(0, start, count), upstream.narrow(0, start, count));
    });
    grad_hidden.sub_(weight.index_select(0, targets));
    gradients.subtract_targets(targets, hidden * upstream.unsqueeze(1), upstream);
    context->save_for_backward({hidden, weight, bias, targets, upstream, grad_hidden});
    context->saved_data["weight"] = gradients.weight;
    context->saved_data["bias"] = gradients.bias;
    context->saved_data["block_bytes"] = options.block_bytes;
    context->saved_data["skip"] = options.skip_probability_below;
    return losses;
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &hidden = saved[0], &weight = saved[1], &bias = saved[2], &targets = saved[3], &expected = saved[4];
    const auto upstream = upstreams[0].contiguous();
    const auto grad_hidden = saved[5] * upstream.unsqueeze(1);
    const bool wants_bias = bias.defined() && bias.requires_grad();
    if (!weight.requires_grad() && !wants_bias) return {grad_hidden, {}, {}, {}, {}, {}, {}};
    // The gradients of the forward pass are moved, not copied; a second backward pass computes them again.
    const auto factor = common_factor(upstream, expected);
    const bool has_formed = context->saved_data.count("weight") > 0;
    if (factor.defined() && has_formed) {
      auto grad_weight = context->saved_data.at("weight").toTensor();
      auto grad_bias = context->saved_data.at("bias").toTensor();
      context->saved_data.erase("weight");
      context->saved_data.erase("bias");
      if (grad_weight.defined()) grad_weight.mul_(factor);
      if (grad_bias.defined()) grad_bias.mul_(factor);
      return {grad_hidden, grad_weight, grad_bias, {}, {}, {}, {}};
    }
    const HeadOptions options{context->saved_data["block_bytes"].toInt(), context->saved_data["skip"].toDouble()};
    ParameterGradients again(weight.requires_grad(), wants_bias, weight);
    Sweep sweep(hidden, weight, bias, targets, options);
    sweep.run(nullptr, [&](int64_t start, int64_t count, at::Tensor& probabilities) {
      again.add_block(sweep, probabilities, hidden.narrow(0, start, count), upstream.narrow(0, start, count));
    });
    again.subtract_targets(targets, hidden * upstream.unsqueeze(1), upstream);
    return {grad_hidden, again.weight, again.bias, {}, {}, {}, {}};
  }

 private:
  // c with upstream == c * expected, or undefined if there is none.
  static at::Tensor common_factor(const at::Tensor& upstream, const at::Tensor& expected) {
    const auto norm = expected.dot(expected);
    if (upstream.numel() == 0 || norm.item<double>() == 0) return {};
    const auto factor = upstream.dot(expected) / norm;
    const double error = (upstream - factor * expected).abs().max().item<double>();
    const double scale = upstream.abs().max().item<double>();
    const double tolerance = upstream.scalar_type() == at::kDouble ? 1e-14 : 1e-6;
    return error <= tolerance * scale ? factor : at::Tensor();
  }
};

class SoftmaxLossAndGradient : public torch::autograd::Function<SoftmaxLossAndGradient> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                               const OptionalTensor& given_bias, const at::Tensor& targets, HeadOptions options) {
    const auto bias = given_bias.value_or(at::Tensor());
    auto losses = at::empty({hidden.size(0)}, hidden.options());
    auto gradient = at::empty(hidden.sizes(), hidden.options());
    Sweep sweep(hidden, weight, bias, targets, options);
    sweep.run(&losses, [&](int64_t start, int64_t count, at::Tensor& probabilities) {
      sweep.multiply_by_weight(gradient.narrow(0, start, count), probabilities);
    });
    gradient.sub_(weight.index_select(0, targets));
    context->save_for_backward({hidden, weight, bias, targets, gradient});
    context->saved_data["block_bytes"] = options.block_bytes;
    context->saved_data["skip"] = options.skip_probability_below;
    context->set_materialize_grads(false);
    return {losses, gradient};
  }

  // For upstream l on the losses and u on the gradients:
  //   q = u E^T   w = p (q - <p,q> + l) - l e   hidden += w E   E += w^T hidden + (p - e)^T u   bias += sum w
  // <p,q> = u . (p E) is known from the forward pass, so q can be computed in narrow parts of the vocabulary.
  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &hidden = saved[0], &weight = saved[1], &bias = saved[2], &targets = saved[3];
    const HeadOptions options{context->saved_data["block_bytes"].toInt(), context->saved_data["skip"].toDouble()};
    const auto loss_upstream =
        upstreams[0].defined() ? upstreams[0].contiguous() : at::zeros({hidden.size(0)}, hidden.options());
    const auto upstream = upstreams[1].defined() ? upstreams[1].contiguous() : at::zeros_like(hidden);
    const bool wants_bias = bias.defined() && context->needs_input_grad(2);
    ParameterGradients gradients(context->needs_input_grad(1), wants_bias, weight);
    auto grad_hidden = at::zeros(hidden.sizes(), hidden.options());
    Sweep sweep(hidden, weight, bias, targets, options);
    sweep.run(nullptr, [&](int64_t start, int64_t count, at::Tensor& probabilities) {
      const auto u = upstream.narrow(0, start, count), rows = hidden.narrow(0, start, count);
      const auto l = loss_upstream.narrow(0, start, count);
      const auto target_rows = weight.index_select(0, targets.narrow(0, start, count));  // count,D
      const auto shift = l - (u * (saved[4].narrow(0, start, count) + target_rows)).sum(1);
      auto grad_rows = grad_hidden.narrow(0, start, count);
      for (const auto& [first, words] : sweep.narrow_stretches()) {
        const auto p = probabilities.narrow(0, first, words), part = weight.narrow(0, first, words);
        auto w = at::empty({words, count}, hidden.options());
        product_into(w, part, u.t());
        multiply_shifted_columns_(w, p, shift);
        product_into(grad_rows, w.t(), part, 1);
        if (gradients.bias.defined()) gradients.bias.narrow(0, first, words).add_(w.sum(1));
        if (!gradients.weight.defined()) continue;
        auto grad_part = gradients.weight.narrow(0, first, words);
        product_into(grad_part, p, u, 1);
        product_into(grad_part, w, rows, 1);
      }
      grad_rows.sub_(target_rows * l.unsqueeze(1));
    });
    gradients.subtract_targets(targets, hidden * loss_upstream.unsqueeze(1) + upstream, loss_upstream);
    return {grad_hidden, gradients.weight, gradients.bias, {}, {}};
  }
};

bool wants_gradient(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias) {
  return at::GradMode::is_enabled() &&
         (hidden.requires_grad() || weight.requires_grad() || (bias.defined() && bias.requires_grad()));
}

}  // namespace

int64_t tokens_per_block(int64_t vocabulary_size, const at::Tensor& like, const HeadOptions& options) {
  const int64_t row_bytes = std::max<int64_t>(1, vocabulary_size * static_cast<int64_t>(like.element_size()));
  return std::clamp<int64_t>(options.block_bytes / row_bytes, 16, 2048);
}

at::Tensor softmax_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& targets, const at::Tensor& expected_upstream, const HeadOptions& options) {
  if (!wants_gradient(hidden, weight, bias))
    return tiled_softmax(hidden, weight, bias, targets, false, options.block_bytes).losses;
  return SoftmaxLoss::apply(hidden, weight, if_defined(bias), targets, if_defined(expected_upstream), options);
}

LossAndGradient softmax_loss_and_gradient(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                                          const at::Tensor& targets, const HeadOptions& options) {
  if (!wants_gradient(hidden, weight, bias) && options.skip_probability_below == 0) {
    const auto tiled = tiled_softmax(hidden, weight, bias, targets, true, options.block_bytes);
    return {tiled.losses, tiled.gradient};
  }
  const auto results = SoftmaxLossAndGradient::apply(hidden, weight, if_defined(bias), targets, options);
  return {results[0], results[1]};
}

}  // namespace fwl
