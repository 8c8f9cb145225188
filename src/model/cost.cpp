#include "model/cost.h"

#include <algorithm>
#include <cmath>

#include "head/adaptive_softmax_head.h"

namespace fwl {
namespace {

double numbers(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.numel()) : 0;
}

bool holds(const std::vector<at::Tensor>& tensors, const at::Tensor& tensor) {
  return std::ranges::any_of(tensors, [&](const at::Tensor& other) { return other.is_same(tensor); });
}

// A table that is only looked up costs no products.
bool is_lookup(const std::string& name) {
  for (const auto* part : {"embed", "word_emb", "wte", "wpe", "token_embd"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

// Products of one token with the head's weights. A tail cluster is visited by its words only: under Zipf's law the
// words up to rank r make up about ln r / ln V of a text.
double head_numbers(const Head& head) {
  const auto* adaptive = dynamic_cast<const AdaptiveSoftmaxHead*>(&head);
  if (!adaptive) return static_cast<double>(head.vocabulary_size()) * static_cast<double>(head.width());
  const double whole = std::log(static_cast<double>(head.vocabulary_size()));
  double result = 0, words = 0;
  for (int64_t index = 0; index < adaptive->cluster_count(); ++index) {
    const auto& cluster = adaptive->cluster(index);
    const double before = index == 0 ? 0 : std::log(std::max(1.0, words));
    words += static_cast<double>(cluster.weight.size(0));
    const double share = index == 0 ? 1 : (std::log(words) - before) / whole;
    result += share * (numbers(cluster.weight) + numbers(cluster.projection));
  }
  return result;
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
  const double product = 2 * head_numbers(head);
  const double loss_sweeps = 1, gradient_sweeps = has_layer ? 2 : 0;
  PartCost cost{"head", 0, loss_sweeps * product, (loss_sweeps + gradient_sweeps) * product, 3 * product};
  if (adapts && has_layer) cost.training_flops += 7 * product;
  return cost;
}

}  // namespace

std::vector<PartCost> costs(const LanguageModel& model, const CostQuestion& question) {
  const auto head = model.base().head();
  const auto head_tensors = head->parameters();
  PartCost embedding{"embedding", 0, 0, 0, 0}, base{"base", 0, 0, 0, 0}, attention{"attention", 0, 0, 0, 0};
  auto head_part = head_cost(*head, model.layer() != nullptr, question.adapts);
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
  if (model.layer()) parts.push_back(layer_cost(model, question.adapts));
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
