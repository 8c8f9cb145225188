#include "blocks/block_rule.h"

#include <algorithm>

#include "engine/torch.h"
#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

// An odd polynomial that sends (0, 1] close to 1 within a few iterations: steep at zero, flat around 1.
constexpr double linear = 3.4445, cubic = -4.7750, quintic = 2.0315;
constexpr int iterations = 5;

}  // namespace

const std::vector<std::string>& block_rule_names() {
  static const std::vector<std::string> names = {"plain", "momentum", "orthogonal"};
  return names;
}

BlockRule block_rule_from(const std::string& name) {
  const auto& names = block_rule_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    fail("blocks.rule", "plain, momentum or orthogonal", "'" + name + "'", did_you_mean(name, names));
  return static_cast<BlockRule>(found - names.begin());
}

at::Tensor matrix_norms(const at::Tensor& matrices) {
  return matrices.square().sum({-2, -1}, true).clamp_min(1e-30).sqrt();
}

at::Tensor orthogonalized(const at::Tensor& matrices) {
  const auto norms = matrix_norms(matrices);
  const bool is_tall = matrices.size(-2) > matrices.size(-1);
  auto x = (is_tall ? matrices.transpose(-2, -1) : matrices) / norms;  // …,m,n with m <= n
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const auto squares = at::matmul(x, x.transpose(-2, -1));  // …,m,m
    x = linear * x + at::matmul(cubic * squares + quintic * at::matmul(squares, squares), x);
  }
  if (is_tall) x = x.transpose(-2, -1);
  return x * (norms / matrix_norms(x));
}

}  // namespace fwl
