#include "train/plan.h"

#include <algorithm>

#include "engine/device.h"
#include "engine/gemm_speed.h"
#include "engine/torch.h"
#include "model/token_tensor.h"
#include "store/trained_model.h"
#include "support/measure.h"
#include "train/optimizer.h"

namespace fwl {
namespace {

constexpr int measured_batches = 3;        // after a warm-up batch
constexpr int64_t fewest_tokens = 128;     // shorter texts say little about longer ones
constexpr double likely_efficiency = 0.4;  // of peak speed; used only to choose how many rows to measure

class StepProbe {
 public:
  StepProbe(const TrainConfig& config, LanguageModel& model, int64_t rows)
      : config_(config),
        model_(model),
        rows_(rows),
        optimizer_(model.parameters(), {}, config.optimizer, this_group()) {}

  void run_batch(int64_t tokens) {
    const auto text = zipf_tokens(rows_, tokens + 1, model_.base().vocabulary_size());
    auto session = model_.new_session(rows_);
    const auto adaptation = config_.objective.adapts() ? Adaptation::write : Adaptation::off;
    const auto losses = model_.read_targets(text.narrow(1, 0, tokens), text.narrow(1, 1, tokens), session,
                                            {adaptation, 0, false, true});
    losses.adapted.mean().backward();
  }
  void update() { optimizer_.step(0, optimizer_.gradient_norm()); }
  double parameter_bytes() const { return 4.0 * static_cast<double>(optimizer_.count()); }

 private:
  const TrainConfig& config_;
  LanguageModel& model_;
  int64_t rows_;
  Optimizer optimizer_;
};

}  // namespace

Plan make_plan(const TrainConfig& config, int64_t vocabulary_size, double patience, c10::Device device,
               const ProgressReport& progress) {
  ModelDescription description;
  description.base = config.base;
  description.base.vocabulary_size = vocabulary_size;
  description.memory = config.memory;
  description.objective = config.objective.name;
  FreshWeights fresh(0, at::TensorOptions(at::kFloat).device(device));
  const auto model = make_model(description, fresh, nullptr);
  model->shared_base()->set_head_options(config.objective.head);
  for (const auto& [name, tensor] : model->parameters()) tensor.requires_grad_();

  Plan plan;
  const int64_t rows = config.data.rows, tokens = config.data.segment_tokens;
  plan.parts = costs(*model, {tokens, config.objective.adapts()});
  plan.tokens_per_step = rows * tokens * config.optimizer.accumulation;
  plan.peak_flops = gemm_flops_per_second(device);
  const double seconds_per_token = total(plan.parts).training_flops / plan.peak_flops / likely_efficiency;
  const auto affordable = static_cast<int64_t>(patience / seconds_per_token / (measured_batches + 1));
  plan.measured_rows = std::clamp(affordable / tokens, int64_t{1}, rows);
  plan.measured_tokens = std::clamp(affordable, std::min(tokens, fewest_tokens), tokens);

  StepProbe probe(config, *model, plan.measured_rows);
  // Memory at half and at full length: the difference is due to activations.
  probe.run_batch(std::max<int64_t>(1, plan.measured_tokens / 2));
  const double at_half = peak_memory_bytes();
  std::vector<double> batches;
  for (int batch = 0; batch < measured_batches; ++batch) {
    batches.push_back(seconds_on(device, [&] { probe.run_batch(plan.measured_tokens); }));
    if (progress) progress({batch + 1, measured_batches, "batches", {}});
  }
  const double scale =
      static_cast<double>(rows * tokens) / static_cast<double>(plan.measured_rows * plan.measured_tokens);
  plan.memory.weights = plan.memory.gradients = probe.parameter_bytes();
  plan.memory.moments = 2 * probe.parameter_bytes();
  plan.memory.activations = 2 * (peak_memory_bytes() - at_half) * scale;
  probe.update();
  plan.seconds_per_update = seconds_on(device, [&] { probe.update(); });
  std::sort(batches.begin(), batches.end());
  plan.seconds_per_batch = batches[measured_batches / 2] * scale;
  plan.seconds_per_step =
      plan.seconds_per_batch * static_cast<double>(config.optimizer.accumulation) + plan.seconds_per_update;
  plan.seconds_in_all = plan.seconds_per_step * static_cast<double>(config.run.steps);
  return plan;
}

}  // namespace fwl
