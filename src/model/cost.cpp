#include "model/cost.h"

namespace fwl {
namespace {

double numbers(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.numel()) : 0;
}

PartCost layer_cost(const LanguageModel& model, bool adapts) {
  const auto& slow = model.layer()->parameters().slow;
  PartCost cost{"layer", 0, 0, 0, 0};
  for (const auto& [name, tensor] : adapter_parameters(model.adapter())) cost.parameters += tensor.numel();
  const double matrices = numbers(slow.U) + numbers(slow.W);  // 2DH
  const double ends = static_cast<double>(slow.U.size(0) + 2 * slow.U.size(1) + slow.W.size(1));
  // Slow pass, dv = dz2 W^T, v' W, and for either matrix a read and an update of its sums; within the chunk the scores
  // and what they weigh.
  const double chunk = static_cast<double>(model.adapter().chunk_tokens);
  cost.scoring_flops = 2 * matrices;
  cost.adapting_flops = 2 * matrices + 2 * numbers(slow.W) * 2 + 4 * matrices + 2 * chunk * ends;
  cost.training_flops = 3 * (adapts ? cost.adapting_flops : cost.scoring_flops);
  return cost;
}

// The sweeps of docs/fast-weights.md: a loss costs one product with the weights, its gradient another one, and the
// derivative of the gradient five more.
PartCost head_cost(const Head& head, bool has_layer, bool adapts) {
  const double product = 2 * head.products_per_token();
  const double loss_sweeps = 1, gradient_sweeps = has_layer ? 2 : 0;
  PartCost cost{"head", 0, loss_sweeps * product, (loss_sweeps + gradient_sweeps) * product, 3 * product};
  if (adapts && has_layer) cost.training_flops += 7 * product;
  return cost;
}

}  // namespace

std::vector<PartCost> costs(const LanguageModel& model, const CostQuestion& question) {
  const auto& counts = model.base().weight_counts();
  PartCost embedding{"embedding", counts.lookups, 0, 0, 0}, attention{"attention", 0, 0, 0, 0};
  PartCost base{"base", counts.base(), 2 * counts.products_per_token, 0, 0};
  auto head = head_cost(*model.base().head(), model.layer() != nullptr, question.adapts);
  head.parameters = counts.head;
  attention.scoring_flops = model.base().attention_flops(question.segment_tokens);
  for (auto* part : {&base, &attention}) {
    part->adapting_flops = part->scoring_flops;
    part->training_flops = 3 * part->scoring_flops;
  }
  std::vector<PartCost> parts = {embedding, base, attention};
  if (model.layer()) parts.push_back(layer_cost(model, question.adapts));
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
