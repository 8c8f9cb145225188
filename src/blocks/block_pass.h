// The memories of the texts that one pass of the base reads, for use and for learning.
#pragma once

#include <map>

#include "base/block_addition.h"
#include "blocks/block_memory.h"

namespace fwl {

class BlockPass : public BlockAddition {
 public:
  explicit BlockPass(const BlockMemory& memory) : memory_(memory) {}

  // The weights (S times B,R,D) that the texts of a base state are read with.
  void add(const BaseState* texts, std::vector<at::Tensor> weights) { weights_[texts] = std::move(weights); }

  at::Tensor at_block(int64_t block, const at::Tensor& input, const TokenRows& rows) const override;

  // The gradients of a loss whose gradient with respect to `hidden` (B,T,D) is given, of a pass over one state that
  // recorded a graph. Second order: they can be differentiated in turn.
  BlockGradients gradients(const at::Tensor& hidden, const at::Tensor& hidden_gradient, const at::Tensor& token_weights,
                           bool keeps_graph, bool is_second_order) const;

 private:
  const BlockMemory& memory_;
  std::map<const BaseState*, std::vector<at::Tensor>> weights_;
  mutable std::vector<at::Tensor> outputs_;  // S times B,T,D, of the last pass that recorded a graph
};

}  // namespace fwl
