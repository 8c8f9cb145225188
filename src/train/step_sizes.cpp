#include "train/step_sizes.h"

#include <fmt/format.h>

#include "engine/torch.h"

namespace fwl {

std::vector<std::pair<std::string, double>> step_sizes_of(const Adapter& adapter) {
  const at::NoGradGuard no_grad;
  std::vector<std::pair<std::string, double>> sizes;
  if (adapter.layer) {
    const auto steps = adapter.layer->steps(), decays = adapter.layer->decays();
    for (size_t index = 0; index < weight_names.size(); ++index)
      sizes.emplace_back(fmt::format("step {}", weight_names[index]), steps.all()[index]->item<double>());
    for (size_t index = 0; decays.is_defined() && index < weight_names.size(); ++index)
      sizes.emplace_back(fmt::format("decay {}", weight_names[index]), decays.all()[index]->item<double>());
  }
  if (adapter.bias_log_step.defined()) sizes.emplace_back("step bias", adapter.bias_log_step.exp().item<double>());
  return sizes;
}

}  // namespace fwl
