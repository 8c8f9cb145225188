#include "model/cost.h"

#include <algorithm>
#include <cmath>

namespace fwl {
namespace {

double numbers(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.numel()) : 0;
}

bool holds(const std::vector<at::Tensor>& tensors, const at::Tensor& tensor) {
  return std::ranges::any_of(tensors, [&](const at::Tensor& other) { return other.is_same(tensor); });
}

// A lookup table costs no products.
bool is_lookup(const std::string& name) {
  for (const auto* part : {"embed", "word_emb", "wte", "wpe", "token_embd"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

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

}  // namespace

std::vector<PartCost> costs(const LanguageModel& model, const CostQuestion& question) {
  const auto head = model.base().head();
  const auto head_tensors = head->parameters();
  PartCost embedding{"embedding", 0, 0, 0, 0}, base{"base", 0, 0, 0, 0}, attention{"attention", 0, 0, 0, 0};
  auto head_part = head_cost(*head, model.memory() && model.memory()->cost().takes_head_gradient, question.adapts);
  for (const auto& [name, tensor] : model.base().parameters()) {
    if (is_lookup(name)) {
      embedding.parameters += tensor.numel();
    } else if (holds(head_tensors, tensor)) {
      head_part.parameters += tensor.numel();
    } else {
      base.parameters += tensor.numel();
      if (tensor.dim() == 2) base.scoring_flops += 2 * numbers(tensor);
    }
  }
  attention.scoring_flops = model.base().attention_flops(question.segment_tokens);
  for (auto* part : {&base, &attention}) {
    part->adapting_flops = part->scoring_flops;
    part->training_flops = 3 * part->scoring_flops;
  }
  std::vector<PartCost> parts = {embedding, base, attention};
  if (model.memory()) parts.push_back(memory_cost(*model.memory(), question.adapts));
  parts.push_back(head_part);
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
