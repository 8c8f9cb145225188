#include "model/cost.h"

namespace fwl {
namespace {

PartCost memory_cost(const FastMemory& memory, bool adapts) {
  const auto own = memory.cost();
  PartCost cost{"memory", 0, own.slow_flops, own.fast_flops, 3 * (adapts ? own.fast_flops : own.slow_flops)};
  for (const auto& [name, tensor] : memory.parameters()) cost.parameters += tensor.numel();
  return cost;
}

// As in docs/fast-weights.md: a loss costs one product with the weights, its gradient another, and the derivative of
// the gradient five more.
PartCost head_cost(const Head& head, bool takes_gradient, bool adapts) {
  const double product = 2 * head.products_per_token();
  const double loss_sweeps = 1, gradient_sweeps = takes_gradient ? 2 : 0;
  PartCost cost{"head", 0, loss_sweeps * product, (loss_sweeps + gradient_sweeps) * product, 3 * product};
  if (adapts && takes_gradient) cost.training_flops += 7 * product;
  return cost;
}

// A chunk's loss is differentiated through the activations of the blocks from the lowest memory upwards: each forward
// product there has one in the backward pass. Training differentiates all of that once more.
PartCost blocks_cost(const BlockMemory& blocks, const BaseModel& base, const PartCost& forward, bool adapts) {
  const double own = blocks.flops_per_token(), lowest = static_cast<double>(blocks.options().blocks.front());
  const double share = 1 - lowest / static_cast<double>(base.blocks());
  PartCost cost{"blocks", 0, 0, 3 * own + share * forward.scoring_flops, 0};
  if (adapts) cost.training_flops = 3 * cost.adapting_flops;
  for (const auto& [name, tensor] : blocks.parameters()) cost.parameters += tensor.numel();
  return cost;
}

}  // namespace

std::vector<PartCost> costs(const LanguageModel& model, const CostQuestion& question) {
  const auto& counts = model.base().weight_counts();
  const bool takes_gradient = model.blocks() || (model.memory() && model.memory()->cost().takes_head_gradient);
  PartCost embedding{"embedding", counts.lookups, 0, 0, 0}, attention{"attention", 0, 0, 0, 0};
  PartCost base{"base", counts.base(), 2 * counts.products_per_token, 0, 0};
  auto head = head_cost(*model.base().head(), takes_gradient, question.adapts);
  head.parameters = counts.head;
  attention.scoring_flops = model.base().attention_flops(question.segment_tokens);
  for (auto* part : {&base, &attention}) {
    part->adapting_flops = part->scoring_flops;
    part->training_flops = 3 * part->scoring_flops;
  }
  std::vector<PartCost> parts = {embedding, base, attention};
  if (model.memory()) parts.push_back(memory_cost(*model.memory(), question.adapts));
  if (model.blocks()) parts.push_back(blocks_cost(*model.blocks(), model.base(), base, question.adapts));
  parts.push_back(head);
  return parts;
}

PartCost total(const std::vector<PartCost>& parts) {
  PartCost sum{"total", 0, 0, 0, 0};
  for (const auto& part : parts) {
    sum.parameters += part.parameters;
    sum.scoring_flops += part.scoring_flops;
    sum.adapting_flops += part.adapting_flops;
    sum.training_flops += part.training_flops;
  }
  return sum;
}

}  // namespace fwl
