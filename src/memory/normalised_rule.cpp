// Normalised updates: every token changes a weight by the same norm, regardless of the size of its gradient.
#include "engine/torch.h"
#include "memory/update_rule.h"

namespace fwl {
namespace {

// A matrix and its bias move together, as one matrix whose key has one more entry of 1: the norm of their update is
// |(key, 1)| |gradient|. Below this bound a gradient counts as it is.
constexpr double smallest_norm = 1e-6;

class NormalisedRule : public UpdateRule {
 public:
  std::string name() const override { return "normalised"; }

  at::Tensor token_update(const at::Tensor& key, const at::Tensor& gradient) const override {
    auto squared_norm = gradient.square().sum(-1, true);                                // B,T,1
    if (key.defined()) squared_norm = squared_norm * (key.square().sum(-1, true) + 1);  // with the bias
    return gradient * (squared_norm + smallest_norm * smallest_norm).rsqrt();           // B,T,N
  }
};

}  // namespace

std::shared_ptr<const UpdateRule> normalised_rule(const UpdateRuleOptions&) {
  return std::make_shared<NormalisedRule>();
}

}  // namespace fwl
