// The layer one token at a time, for generation: equal to FastWeightLayer::read, at the cost of a few products of a
// vector with a matrix.
#pragma once

#include <array>

#include "memory/layer.h"
#include "memory/layer_sums.h"
#include "memory/passes.h"

namespace fwl {

// The weights contain all updates but those of the last tokens, which are kept as vectors. This way matrices of the
// state's size are rewritten only once in many tokens.
class LayerCursor : public MemoryCursor {
 public:
  // The state of one text, or an undefined one.
  LayerCursor(std::shared_ptr<const FastWeightLayer> layer, const FastState& state, std::shared_ptr<const Head> head);

  at::Tensor logits(const at::Tensor& hidden) override;
  void learn(const at::Tensor& hidden, int64_t target) override;
  FastState state() override;

 private:
  // Pending updates of a matrix: outer products of keys and gradients.
  struct Waiting {
    at::Tensor keys, gradients;  // n,K and n,N, of which `count` are in use
    int64_t count = 0;
    void push(const at::Tensor& key, const at::Tensor& gradient);  // 1,K and 1,N
    // Subtracts the effect of the pending updates on `query` (1,K) from `value` (1,N), in place.
    void correct_(at::Tensor value, const at::Tensor& query, double step) const;
    void add_to(at::Tensor& sum);  // 1,K,N; leaves no pending updates
  };

  // What `logits` computes for `learn` besides: the head is swept once per token.
  struct Prepared {
    at::Tensor hidden;     // 1,D
    LayerForward forward;  // rows: as the weights are, and where gradients are taken
    at::Tensor mean_row;   // 1,D: of the head, for the second row; or undefined
  };

  LayerForward forward(const at::Tensor& hidden) const;
  void update_vectors(const InnerGradients& gradients);
  void flush();
  void close_full_segment();
  void set_weights();

  std::shared_ptr<const FastWeightLayer> layer_;
  std::shared_ptr<const Head> head_;
  WeightSet steps_;
  std::array<double, 6> step_sizes_ = {};  // the same, in the order of weight_names
  FastState clock_;                        // positions; the numbers are in sums_
  LayerSums sums_;
  WeightSet gradient_weights_, current_;  // where gradients are taken; what the sums have led to: no leading B
  Waiting waiting_U_, waiting_W_;
  Prepared prepared_;
};

}  // namespace fwl
