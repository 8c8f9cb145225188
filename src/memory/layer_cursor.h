// The layer one token at a time, for writing: equal to FastWeightLayer::forward, at the cost of a few products of a
// vector with a matrix.
#pragma once

#include "memory/layer.h"
#include "memory/passes.h"

namespace fwl {

// The weights hold all gradients but those of the last tokens, which wait as vectors beside them: so matrices of the
// state's size are written only once in many tokens.
class LayerCursor {
 public:
  // The state of one text, or an undefined one; chunk_tokens as in LayerCall. The layer must outlive this.
  LayerCursor(const FastWeightLayer& layer, const FastState& state, int64_t chunk_tokens);

  // The adapted output for a hidden state.   1,D -> 1,D
  at::Tensor adapt(const at::Tensor& hidden);
  // The token that follows that hidden state is known: its gradient moves the weights.
  void learn(const Head& head, int64_t target);

  FastState state();  // with every gradient in its sums

 private:
  // Gradients of a matrix that wait: outer products of keys and gradients.
  struct Waiting {
    at::Tensor keys, gradients;  // n,K and n,N, of which `count` are in use
    int64_t count = 0;
    void push(const at::Tensor& key, const at::Tensor& gradient);  // 1,K and 1,N
    // Takes off `value` (1,N) what the gradients make of `query` (1,K).
    at::Tensor corrected(const at::Tensor& value, const at::Tensor& query, double step) const;
    void add_to(at::Tensor& sum);  // 1,K,N; nothing waits afterwards
  };

  void move_vectors(const InnerGradients& gradients);
  void flush();
  void set_weights();

  const FastWeightLayer& layer_;
  WeightSet steps_;
  std::array<double, 6> step_sizes_ = {};  // the same, in the order of weight_names
  FastState state_;
  WeightSet point_, moved_;  // where gradients are taken; where the present sums have led: no leading B
  Waiting waiting_U_, waiting_W_;
  SlowPass slow_;  // of the last hidden state, at the point
};

}  // namespace fwl
