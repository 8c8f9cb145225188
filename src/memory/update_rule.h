// How gradients become updates of the layer's weights: a policy, one file and one line of the table per rule.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace fwl {

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  virtual std::string name() const = 0;

  // What one token's gradient adds to the sum of its weight: key^T gradient for a matrix, gradient for a vector.
  // key: B,T,K, undefined for a vector   gradient: B,T,N -> B,T,N
  virtual at::Tensor token_update(const at::Tensor& /*key*/, const at::Tensor& gradient) const { return gradient; }

  // Whether segments must end for the rule to act, and whether it keeps a velocity beside the sums of each weight.
  virtual bool needs_segments() const { return false; }
  virtual bool has_velocity() const { return false; }

  // The decayed sum of all closed segments when one more is closed.   closed, velocity: B,… or undefined at first
  // open: B,…   decay: one number, or undefined: none
  virtual at::Tensor close(const at::Tensor& closed, const at::Tensor& open, const at::Tensor& decay,
                           at::Tensor& velocity) const;
};

struct UpdateRuleOptions {
  std::string name = "sum";
  double momentum = 0.9;
};
std::shared_ptr<const UpdateRule> make_update_rule(const UpdateRuleOptions& options);
std::vector<std::string> update_rule_names();

// closed * decay + added, where either may be missing.
at::Tensor decayed_sum(const at::Tensor& closed, const at::Tensor& decay, const at::Tensor& added);

// The rules, for the table in update_rule.cpp.
std::shared_ptr<const UpdateRule> momentum_rule(const UpdateRuleOptions& options);
std::shared_ptr<const UpdateRule> normalised_rule(const UpdateRuleOptions& options);

}  // namespace fwl
