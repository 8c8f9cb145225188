// Normalised updates: every token moves a weight by the same distance, whatever the size of its gradient.
#include "engine/torch.h"
#include "memory/update_rule.h"

namespace fwl {
namespace {

// The Frobenius norm of key^T gradient is |key| |gradient|. Below this bound a gradient counts as it is.
constexpr double smallest_norm = 1e-6;

class NormalisedRule : public UpdateRule {
 public:
  std::string name() const override { return "normalised"; }

  at::Tensor token_update(const at::Tensor& key, const at::Tensor& gradient) const override {
    auto norm = gradient.square().sum(-1, true);                       // B,T,1
    if (key.defined()) norm = norm * key.square().sum(-1, true);       // B,T,1
    return gradient * (norm + smallest_norm * smallest_norm).rsqrt();  // B,T,N
  }
};

}  // namespace

std::shared_ptr<const UpdateRule> normalised_rule(const UpdateRuleOptions&) {
  return std::make_shared<NormalisedRule>();
}

}  // namespace fwl
