// The interface of all kinds of fast weights: what learns while a text is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "head/head.h"
#include "memory/fast_state.h"
#include "weights/weight_source.h"

namespace fwl {

// Three equal ways of computing the same thing: the definition (quadratic in T), in chunks, token by token.
enum class Form { quadratic, chunked, recurrent };
Form form_from_name(const std::string& name);

struct MemoryCall {
  at::Tensor token_weights;  // B,T or undefined; 0: the token neither updates nor scores nor counts as a position
  int64_t chunk_tokens = 0;  // 0: the memory's own
  Form form = Form::chunked;
  bool wants_slow_loss = false;  // may cost a head sweep of its own
  // Leave a segment that ends with the last token to the next call. Training on segments detaches the state between
  // calls, so the decay can only be learned from its effect in the next call.
  bool leaves_last_segment_open = false;
};

struct MemoryLosses {
  at::Tensor fast;  // B,T
  at::Tensor slow;  // B,T: the same with the fast weights off; undefined if not wanted
};

// The size of an update beside that of the weight it changes, averaged over the texts.
struct DriftFigure {
  std::string weight;
  double update_norm = 0, weight_norm = 0;
  double drift = 0;  // their ratio; the size of the update if the weight is zero
};

// Floating-point operations of products per token, without those of the head.
struct MemoryCost {
  double slow_flops = 0, fast_flops = 0;
  bool takes_head_gradient = false;  // learning needs the gradient of the head's loss
};

// How a fast output bias on top of this memory decays: at the ends of segments, by this factor.
struct BiasDecay {
  int64_t segment_tokens = 0;  // 0: never
  at::Tensor factor;           // one number
};

// One text, one token at a time: equal to FastMemory::read, at the cost of products of vectors.
class MemoryCursor {
 public:
  virtual ~MemoryCursor() = default;
  virtual at::Tensor logits(const at::Tensor& hidden) = 0;           // 1,D -> 1,V, for the token that comes next
  virtual void learn(const at::Tensor& hidden, int64_t target) = 0;  // the token after that hidden state is known
  virtual FastState state() = 0;                                     // including everything learned so far
};

// A memory is constant; what it learns is in the state. Reading from several threads with a state each is safe.
class FastMemory : public std::enable_shared_from_this<FastMemory> {
 public:
  virtual ~FastMemory() = default;

  virtual std::string kind() const = 0;
  virtual NamedTensors parameters() const = 0;  // "fast.U", "fast.log_steps", …
  virtual MemoryCost cost() const = 0;
  virtual StateLayout state_layout(const Head& head) const = 0;

  // The losses of targets (B,T) under hidden states (B,T,D), each given what all before it have taught. Moves the
  // state, which may be undefined: a new one. Differentiable once; that is the second-order gradient.
  virtual MemoryLosses read(const at::Tensor& hidden, const at::Tensor& targets,
                            const std::shared_ptr<const Head>& head, const MemoryCall& call,
                            FastState& state) const = 0;

  // The output for hidden states (B,T,D) under a state that stays as it is; an undefined state: fast weights off.
  virtual at::Tensor adapt(const at::Tensor& hidden, const FastState& state) const = 0;
  // The same for many calls: what follows from the state is computed once.
  using Adapter = std::function<at::Tensor(const at::Tensor& hidden)>;
  virtual Adapter adapter(const FastState& state) const;
  // The head for one text of the state.
  virtual std::shared_ptr<const Head> head_for(const std::shared_ptr<const Head>& head, const FastState& state,
                                               int64_t sequence) const;
  virtual bool moves_head() const { return false; }  // head_for differs from text to text

  // Losses (B,T) and logits (B,V, of B,D) under a state that stays as it is.
  at::Tensor loss(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                  const FastState& state, const at::Tensor& token_weights) const;
  at::Tensor logits(const at::Tensor& hidden, const std::shared_ptr<const Head>& head, const FastState& state) const;

  // The state is copied.
  virtual std::unique_ptr<MemoryCursor> cursor(const FastState& state, std::shared_ptr<const Head> head) const;

  // The same memory with one given step size for everything it learns with.
  virtual std::shared_ptr<const FastMemory> with_step_size(double step) const;
  virtual std::vector<std::pair<std::string, double>> step_sizes() const { return {}; }  // and decays, for records
  virtual std::vector<DriftFigure> drift(const FastState&) const { return {}; }
  virtual BiasDecay bias_decay() const { return {}; }
  // Names of the parameters that are step sizes or decays, in logarithms: they learn at a rate of their own.
  virtual std::vector<std::string> step_parameter_names() const { return {}; }
  // Names of the parameters that act while the fast weights are off.
  virtual std::vector<std::string> slow_output_names() const { return {}; }
};

// The losses of the tokens that count, 0 for the others.   hidden: B,T,D   targets: B,T -> B,T
at::Tensor masked_loss(const Head& head, const at::Tensor& hidden, const at::Tensor& targets,
                       const at::Tensor& token_weights);

}  // namespace fwl
