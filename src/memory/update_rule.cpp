#include "memory/update_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// The paper's: plain sums of gradients.
class SumRule : public UpdateRule {
 public:
  std::string name() const override { return "sum"; }
};

std::shared_ptr<const UpdateRule> sum_rule(const UpdateRuleOptions&) {
  return std::make_shared<SumRule>();
}

struct RuleEntry {
  const char* name;
  std::shared_ptr<const UpdateRule> (*make)(const UpdateRuleOptions&);
};

constexpr RuleEntry rules[] = {
    {"sum", sum_rule},
    {"momentum", momentum_rule},
    {"normalised", normalised_rule},
};

}  // namespace

at::Tensor decayed_sum(const at::Tensor& closed, const at::Tensor& decay, const at::Tensor& added) {
  if (!closed.defined()) return added;
  return (decay.defined() ? closed * decay : closed) + added;
}

at::Tensor UpdateRule::close(const at::Tensor& closed, const at::Tensor& open, const at::Tensor& decay,
                             at::Tensor&) const {
  return decayed_sum(closed, decay, open);
}

std::shared_ptr<const UpdateRule> make_update_rule(const UpdateRuleOptions& options) {
  for (const auto& rule : rules)
    if (options.name == rule.name) return rule.make(options);
  fail("layer.rule", fmt::format("one of {}", fmt::join(update_rule_names(), ", ")), "'" + options.name + "'");
}

std::vector<std::string> update_rule_names() {
  std::vector<std::string> names;
  for (const auto& rule : rules) names.emplace_back(rule.name);
  return names;
}

}  // namespace fwl
