// What fast weights inside a base model add to its blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "base/token_rows.h"

namespace fwl {

class BlockAddition {
 public:
  virtual ~BlockAddition() = default;

  // What is added to the output of a block's feed-forward part, given the part's normalised input (N,D) and the rows
  // that it belongs to. -> N,D, or undefined: nothing. The number after the last block's stands for the input of the
  // head, to which it is added.
  virtual at::Tensor at_block(int64_t block, const at::Tensor& input, const TokenRows& rows) const = 0;
};

}  // namespace fwl
