// The output head: hidden states to losses, their gradients, and logits, without a T x V tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace fwl {

// How the head divides its passes over tokens and vocabulary, and what they may skip.
struct HeadOptions {
  // Memory for one block of logits; the number of tokens in a block follows from it.
  int64_t block_bytes = 40 << 20;
  // Products with probabilities skip blocks of 256 vocabulary entries in which every probability of the block of tokens
  // is below this threshold. 0: exact. 2^-12 is the resolution of bf16.
  double skip_probability_below = 0;
  // A quantised output matrix is dequantised once if it then has at most so many bytes, and otherwise slice by slice in
  // every pass.
  int64_t dense_bytes = 128 << 20;
};

struct LossAndGradient {
  at::Tensor loss;      // N: -log p(target)
  at::Tensor gradient;  // N,D: of each loss with respect to its own hidden state
};

// What writing one token needs of the head, in one pass over its weights.
struct TokenPass {
  at::Tensor logits;    // 1,V
  at::Tensor mean_row;  // 1,D: of the output rows, under the probabilities of another hidden state; or undefined
};

// One cluster of the vocabulary: logits = (hidden @ projection) @ weight^T + bias. The full softmax has one cluster.
struct SoftmaxCluster {
  at::Tensor weight;      // tokens, d
  at::Tensor bias;        // tokens, or undefined
  at::Tensor projection;  // D, d; undefined if nothing is projected (d = D)
};

class Head {
 public:
  virtual ~Head() = default;

  virtual int64_t width() const = 0;            // D
  virtual int64_t vocabulary_size() const = 0;  // V
  virtual std::vector<at::Tensor> parameters() const = 0;
  virtual double products_per_token() const = 0;  // multiplications by weights for one token's loss, on average

  // hidden: N,D   targets: N -> N. If the upstream gradient is proportional to `expected_upstream` (N, or undefined for
  // ones), the parameters' gradients come from the forward pass. Any other upstream is correct too, and costs one more
  // pass.
  virtual at::Tensor loss(const at::Tensor& hidden, const at::Tensor& targets,
                          const at::Tensor& expected_upstream) const = 0;

  // Both results can be differentiated once more: first-order autograd through them is the second-order gradient.
  virtual LossAndGradient loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const = 0;

  // hidden: N,D -> N,V, unnormalised for the full softmax and log-probabilities for the adaptive one.
  virtual at::Tensor logits(const at::Tensor& hidden) const = 0;

  // The logits of `hidden` (1,D), and of the loss at `learning` (1,D) the gradient that all targets share: the loss of
  // a target has the gradient mean_row - output_row(target). Heads that have no faster way leave it out.
  virtual TokenPass token_pass(const at::Tensor& hidden, const at::Tensor& learning) const;
  virtual at::Tensor output_row(int64_t token) const;  // 1,D; of heads that give a mean_row

  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& targets) const { return loss(hidden, targets, {}); }

  // The softmaxes that a loss is made of, for memories that move the output biases. Visits the cluster that every
  // token meets first (rows undefined: all of them), then those that only some tokens meet.
  using ClusterVisit = std::function<void(int64_t index, const SoftmaxCluster& cluster, const at::Tensor& rows,
                                          const at::Tensor& local_targets)>;
  virtual void for_each_cluster(const at::Tensor& targets, const ClusterVisit& visit) const = 0;
  virtual std::vector<int64_t> bias_sizes() const = 0;  // how many biases each cluster has
  // The same head with `change` (per cluster) added to its biases.
  virtual std::shared_ptr<const Head> with_bias_change(const std::vector<at::Tensor>& change) const = 0;
  virtual const HeadOptions& options() const = 0;
};

at::Tensor changed_bias(const at::Tensor& bias, const at::Tensor& change);  // either may be undefined

// Throws UserError unless hidden is N,D, targets are N whole numbers, and 0 <= target < V.
void check_head_input(const char* where, const Head& head, const at::Tensor& hidden, const at::Tensor& targets);

}  // namespace fwl
