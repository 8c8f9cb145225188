// Bias-only fast weights as a memory: the head's output bias learns, whatever is beneath it stays slow.
#pragma once

#include "memory/fast_memory.h"

namespace fwl {

class BiasMemory : public FastMemory {
 public:
  // `beneath` (or null) adapts the hidden states with its slow weights only. log_step: one number
  BiasMemory(std::shared_ptr<const FastMemory> beneath, at::Tensor log_step);

  std::string kind() const override { return "bias-only"; }
  NamedTensors parameters() const override;
  MemoryCost cost() const override;
  StateLayout state_layout(const Head& head) const override;

  MemoryLosses read(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                    const MemoryCall& call, FastState& state) const override;
  at::Tensor adapt(const at::Tensor& hidden, const FastState& state) const override;
  std::shared_ptr<const Head> head_for(const std::shared_ptr<const Head>& head, const FastState& state,
                                       int64_t sequence) const override;
  bool moves_head() const override { return true; }

  std::shared_ptr<const FastMemory> with_step_size(double step) const override;
  std::vector<std::pair<std::string, double>> step_sizes() const override;
  std::vector<std::string> step_parameter_names() const override;
  std::vector<std::string> slow_output_names() const override;

 private:
  BiasDecay decay() const;  // of the weights as they are now
  // One text from one place in its segment on.   hidden: 1,T,D   targets, weights: 1,T
  MemoryLosses read_text(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& weights,
                         const Head& head, FastState& state) const;
  // The biases of one text where a full segment's decay is still to come: it is learned from what the next one loses.
  std::vector<at::Tensor> decayed_sums(const FastState& state, int64_t sequence) const;

  std::shared_ptr<const FastMemory> beneath_;
  at::Tensor log_step_;
};

}  // namespace fwl
