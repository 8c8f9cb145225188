#include "memory/bias_only.h"

#include <fmt/format.h>

#include <optional>

#include "engine/products.h"
#include "engine/torch.h"
#include "head/softmax_sweep.h"
#include "support/error.h"

namespace fwl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One sequence under one softmax.   hidden: N,D   weight: V,D   bias: V or undefined   targets, factor: N   sum: V
struct Sequence {
  at::Tensor hidden, weight, bias, targets, factor, sum, step;
};

// The numbers of one block of n tokens, rebuilt in the backward.
struct Block {
  at::Tensor hidden, targets, factor;  // n,D  n,1  n,1
  at::Tensor logits, p;                // n,V
  at::Tensor gradient;                 // n,V: factor * (p - onehot)
  at::Tensor before;                   // n,V: sum_{i<t} of the gradients
  at::Tensor fast_logits;              // n,V
};

at::Tensor minus_onehot(const at::Tensor& p, const at::Tensor& targets) {
  return p.scatter_add(1, targets, at::full(targets.sizes(), -1.0, p.options()));
}

Block make_block(const Sequence& s, int64_t start, int64_t count, const at::Tensor& sum, double step) {
  Block block;
  block.hidden = s.hidden.narrow(0, start, count);
  block.targets = s.targets.narrow(0, start, count).unsqueeze(1);
  block.factor = s.factor.narrow(0, start, count).unsqueeze(1);
  block.logits = product(block.hidden, s.weight.t());
  if (s.bias.defined()) block.logits.add_(s.bias);
  block.p = at::softmax(block.logits, 1);
  block.gradient = minus_onehot(block.p, block.targets).mul_(block.factor);
  const auto shifted = at::cat({sum.unsqueeze(0), block.gradient.narrow(0, 0, count - 1)});
  block.before = shifted.cumsum(0);
  block.fast_logits = block.logits - block.before * step;
  return block;
}

at::Tensor losses_of(const at::Tensor& logits, const at::Tensor& targets) {
  return (at::logsumexp(logits, 1, true) - logits.gather(1, targets)).squeeze(1);
}

class BiasOnlySequence : public torch::autograd::Function<BiasOnlySequence> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                               const std::optional<at::Tensor>& given_bias, const at::Tensor& targets,
                               const at::Tensor& factor, const at::Tensor& initial, const at::Tensor& step,
                               int64_t block_tokens) {
    const auto bias = given_bias.value_or(at::Tensor());
    const Sequence sequence{hidden, weight, bias, targets, factor, initial, step};
    const double step_size = step.item<double>();
    std::vector<at::Tensor> slow, fast, sums = {initial};
    for (int64_t start = 0; start < hidden.size(0); start += block_tokens) {
      const int64_t count = std::min(block_tokens, hidden.size(0) - start);
      const auto block = make_block(sequence, start, count, sums.back(), step_size);
      slow.push_back(losses_of(block.logits, block.targets));
      fast.push_back(losses_of(block.fast_logits, block.targets));
      sums.push_back(sums.back() + block.gradient.sum(0));
    }
    const auto end = sums.back();
    sums.pop_back();
    context->save_for_backward({hidden, weight, bias, targets, factor, at::stack(sums), step});
    context->saved_data["block_tokens"] = block_tokens;
    return {at::cat(slow), at::cat(fast), end};
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const Sequence s{saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], saved[6]};
    const double step_size = s.step.item<double>();
    const int64_t block_tokens = context->saved_data["block_tokens"].toInt();
    auto grad_hidden = at::empty_like(s.hidden);
    auto grad_weight = at::zeros_like(s.weight);
    auto grad_bias = s.bias.defined() ? at::zeros_like(s.bias) : at::Tensor();
    auto grad_step = at::zeros_like(s.step);
    auto sum_upstream = upstreams[2].clone();  // V: of the sum after the present token
    for (int64_t index = s.sum.size(0) - 1; index >= 0; --index) {
      const int64_t start = index * block_tokens, count = std::min(block_tokens, s.hidden.size(0) - start);
      const auto block = make_block(s, start, count, s.sum[index], step_size);
      const auto slow_upstream = upstreams[0].narrow(0, start, count).unsqueeze(1);
      const auto fast_upstream = upstreams[1].narrow(0, start, count).unsqueeze(1);
      const auto d_fast = minus_onehot(at::softmax(block.fast_logits, 1), block.targets).mul_(fast_upstream);
      grad_step.sub_((d_fast * block.before).sum());
      const auto d_before = d_fast * -step_size;
      // What each token's gradient is worth to all later tokens: a sum from the end, without the token itself.
      const auto from_here = d_before.flip({0}).cumsum(0).flip({0});
      const auto later = (from_here - d_before + sum_upstream) * block.factor;
      auto d_logits = d_fast + minus_onehot(block.p, block.targets).mul_(slow_upstream);
      d_logits += block.p * (later - (block.p * later).sum(1, true));
      sum_upstream = sum_upstream + d_before.sum(0);
      auto d_hidden = grad_hidden.narrow(0, start, count);
      product_into(d_hidden, d_logits, s.weight);
      product_into(grad_weight, d_logits.t(), block.hidden, 1);
      if (grad_bias.defined()) grad_bias.add_(d_logits.sum(0));
    }
    return {grad_hidden, grad_weight, grad_bias, {}, {}, sum_upstream, grad_step, {}};
  }
};

struct BiasLosses {
  at::Tensor slow, fast, end;
};

BiasLosses read_sequence(const Sequence& sequence, const HeadOptions& options) {
  // A block holds about eight tensors of the size of its logits.
  HeadOptions smaller = options;
  smaller.block_bytes /= 8;
  const auto block_tokens = tokens_per_block(sequence.weight.size(0), sequence.hidden, smaller);
  const auto bias = sequence.bias.defined() ? std::optional(sequence.bias) : std::nullopt;
  const auto results = BiasOnlySequence::apply(sequence.hidden, sequence.weight, bias, sequence.targets,
                                               sequence.factor, sequence.sum, sequence.step, block_tokens);
  return {results[0], results[1], results[2]};
}

// Adds one sequence's losses under every cluster of the head; `sums` holds the running sums, one per cluster.
BiasLosses read_clusters(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& factor,
                         const Head& head, const at::Tensor& step, std::vector<at::Tensor>& sums) {
  BiasLosses total;
  head.for_each_cluster(
      targets, [&](int64_t index, const SoftmaxCluster& cluster, const at::Tensor& rows, const at::Tensor& local) {
        const auto some_hidden = rows.defined() ? hidden.index_select(0, rows) : hidden;
        const auto some_factor = rows.defined() ? factor.index_select(0, rows) : factor;
        const auto projected = cluster.projection.defined() ? product(some_hidden, cluster.projection) : some_hidden;
        auto& sum = sums[static_cast<size_t>(index)];
        const auto losses =
            read_sequence({projected, cluster.weight, cluster.bias, local, some_factor, sum, step}, head.options());
        sum = losses.end;
        if (!rows.defined()) {
          total = losses;
          return;
        }
        total.slow = total.slow.index_add(0, rows, losses.slow);
        total.fast = total.fast.index_add(0, rows, losses.fast);
      });
  return total;
}

std::vector<at::Tensor> fresh_state(const at::Tensor& hidden, const Head& head) {
  std::vector<at::Tensor> state;
  for (const auto size : head.bias_sizes()) state.push_back(at::zeros({hidden.size(0), size}, hidden.options()));
  return state;
}

}  // namespace

BiasOnlyOutput bias_only(const at::Tensor& hidden, const at::Tensor& targets, const Head& head,
                         const at::Tensor& log_step, const at::Tensor& token_weights,
                         const std::vector<at::Tensor>& state) {
  if (hidden.dim() != 3 || hidden.size(1) == 0 || targets.sizes() != hidden.sizes().slice(0, 2))
    fail("bias_only", "hidden states (B,T,D) and targets (B,T), T > 0",
         c10::str(hidden.sizes(), " and ", targets.sizes()));
  check_head_input("bias_only", head, hidden.flatten(0, 1), targets.flatten());
  const auto factor =
      token_weights.defined() ? token_weights.to(hidden.scalar_type()) : at::ones(targets.sizes(), hidden.options());
  auto before = state.empty() ? fresh_state(hidden, head) : state;
  std::vector<at::Tensor> slow, fast;
  std::vector<std::vector<at::Tensor>> after(before.size());
  for (int64_t index = 0; index < hidden.size(0); ++index) {
    std::vector<at::Tensor> sums;
    for (const auto& cluster : before) sums.push_back(cluster[index]);
    const auto losses = read_clusters(hidden[index], targets[index], factor[index], head, log_step.exp(), sums);
    slow.push_back(losses.slow);
    fast.push_back(losses.fast);
    for (size_t cluster = 0; cluster < sums.size(); ++cluster) after[cluster].push_back(sums[cluster]);
  }
  BiasOnlyOutput output{at::stack(slow), at::stack(fast), {}};
  if (token_weights.defined()) {
    const auto is_unscored = token_weights == 0;
    output.slow_loss = output.slow_loss.masked_fill(is_unscored, 0);
    output.fast_loss = output.fast_loss.masked_fill(is_unscored, 0);
  }
  for (const auto& sums : after) output.state.push_back(at::stack(sums));
  return output;
}

}  // namespace fwl
