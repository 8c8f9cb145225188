// How the step of a chunk becomes an update of the memories in the blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace fwl {

enum class BlockRule {
  plain,       // the step itself
  momentum,    // a running mean of the steps of all chunks
  orthogonal,  // the nearest matrix with equal singular values, of the step's norm (Muon)
};

const std::vector<std::string>& block_rule_names();  // in the order of the enum
BlockRule block_rule_from(const std::string& name);

// The root of the sum of squares over the last two dimensions, which stay as 1,1; its gradient at zero is zero.
at::Tensor matrix_norms(const at::Tensor& matrices);

// Newton-Schulz iteration: all singular values of a matrix come close to each other, its norm stays.   …,R,D
at::Tensor orthogonalized(const at::Tensor& matrices);

}  // namespace fwl
