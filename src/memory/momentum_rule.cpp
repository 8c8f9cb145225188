// Momentum over segments: each closed segment adds to a velocity, and the velocity to the sums.
#include <fmt/format.h>

#include "engine/torch.h"
#include "memory/update_rule.h"
#include "support/error.h"

namespace fwl {
namespace {

// velocity <- momentum * velocity + open, closed <- decay * closed + velocity. Inside a segment tokens act as plain
// sums, so the forms stay equal.
class MomentumRule : public UpdateRule {
 public:
  explicit MomentumRule(double momentum) : momentum_(momentum) {
    if (!(momentum >= 0 && momentum < 1))
      fail("layer.momentum", "a number from 0 to below 1", fmt::format("{}", momentum));
  }

  std::string name() const override { return "momentum"; }
  bool needs_segments() const override { return true; }
  bool has_velocity() const override { return true; }

  at::Tensor close(const at::Tensor& closed, const at::Tensor& open, const at::Tensor& decay,
                   at::Tensor& velocity) const override {
    velocity = velocity.defined() ? velocity * momentum_ + open : open;
    return decayed_sum(closed, decay, velocity);
  }

 private:
  double momentum_;
};

}  // namespace

std::shared_ptr<const UpdateRule> momentum_rule(const UpdateRuleOptions& options) {
  return std::make_shared<MomentumRule>(options.momentum);
}

}  // namespace fwl
