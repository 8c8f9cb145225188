#include "train/trainer.h"

#include <fmt/format.h>
#include <algorithm>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "engine/gemm_speed.h"
#include "engine/torch.h"
#include "support/discardable.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "train/schedule.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Settings that may change on resume: file paths (the data hash is checked), and settings that do not affect weights.
constexpr const char* free_keys[] = {"/data/train",    "/data/valid",           "/data/tokenizer",
                                     "/run/log_every", "/run/keep_checkpoints", "/run/checkpoint_every"};

void check_same_config(const std::string& where, nlohmann::json before, nlohmann::json now) {
  for (const auto* key : free_keys) {
    const nlohmann::json::json_pointer pointer(key);
    for (auto* json : {&before, &now})
      if (json->contains(pointer)) (*json)[pointer] = nullptr;
  }
  const auto difference = nlohmann::json::diff(before, now);
  if (difference.empty()) return;
  const auto key = difference[0].at("path").get<std::string>();
  const nlohmann::json::json_pointer pointer(key);
  const auto text = [&](const nlohmann::json& json) {
    return json.contains(pointer) ? json[pointer].dump() : std::string("nothing");
  };
  fail(where, fmt::format("{} = {} as the run began", key.substr(1), text(before)), text(now),
       key == "/run/steps" ? "only a finished run takes more steps"
                           : "a run goes on only with its own settings; start another one in another folder");
}

}  // namespace

Trainer::Trainer(TrainingTask& task, TrainerOptions options, TrainObserver& observer)
    : task_(task),
      options_(std::move(options)),
      observer_(observer),
      optimizer_(task.parameters(), task.step_parameter_names(), options_.optimizer),
      guard_(options_.run),
      checkpoints_(inside("checkpoints"), options_.run.keep_checkpoints),
      record_(options_.folder),
      facts_(task.facts()) {}

std::string Trainer::inside(const char* name) const {
  return (fs::path(options_.folder) / name).string();
}

void Trainer::run() {
  start_or_resume();
  // At the start, to see later what training has changed.
  if ((step_ == 0 || is_validation_due_) && task_.can_validate()) validate();
  while (step_ < options_.run.steps) {
    const double started = seconds_now();
    auto report = take_step_or_give_up();
    report_step(report, started);
    stop_if_hopeless();
    if (task_.can_validate() && is_due(options_.run.valid_every)) validate();
    if (is_due(options_.run.checkpoint_every)) save_checkpoint();
    try {
      throw_if_interrupted();
    } catch (const Interrupted&) {
      if (!is_due(options_.run.checkpoint_every)) save_checkpoint();
      throw;
    }
  }
  task_.save_model(inside("model"));
}

void Trainer::start_or_resume() {
  const auto latest = checkpoints_.latest();
  if (latest && !options_.resumes)
    fail(options_.folder, "a folder without a run", "one with checkpoints", "--resume goes on with that run");
  peak_flops_ = gemm_flops_per_second();
  if (latest) {
    resume(*latest);
  } else {
    record_.start();
    record_.add({{"event", "start"},
                 {"config", options_.config},
                 {"environment", environment_json()},
                 {"data", task_.data_facts()},
                 {"parameters", optimizer_.count()},
                 {"flops_per_token", facts_.flops_per_token},
                 {"step", 0}});
  }
  observer_.on_start(optimizer_.count(), facts_, peak_flops_, step_);
}

void Trainer::resume(const std::string& checkpoint) {
  TensorReader reader(checkpoint, "a checkpoint");
  const auto notes = checkpoint_notes(reader);
  try {
    step_ = notes.at("step").get<int64_t>();
    auto before = notes.at("config");
    auto& steps = before.at("run").at("steps");
    if (steps == step_ && options_.run.steps > step_) steps = options_.run.steps;  // a finished run is extended
    check_same_config(checkpoint, before, options_.config);
    has_best_ = !notes.at("best_loss").is_null();
    if (has_best_) best_loss_ = notes.at("best_loss").get<double>();
    is_validation_due_ = notes.value("is_validation_due", false);
    guard_.restore(notes.at("guard"));
    optimizer_.take_from(reader);
    task_.restore(notes.at("position"), reader);
  } catch (const nlohmann::json::exception& error) {
    fail(checkpoint, "a checkpoint's notes", error.what(), "the file is damaged");
  }
  reader.expect_nothing_else();
  record_.go_on_after(step_);
  record_.add(
      {{"event", "resume"}, {"step", step_}, {"steps", options_.run.steps}, {"environment", environment_json()}});
}

// The parts of a checkpoint that a step changes before it ends.
struct Trainer::CarriedState {
  TensorMap tensors;
  nlohmann::json position;
};

Trainer::CarriedState Trainer::carried_state() const {
  CarriedState carried{{}, task_.position()};
  task_.append_state(carried.tensors);
  for (auto& [name, tensor] : carried.tensors) tensor = tensor.clone();
  return carried;
}

// An interrupt ends a step in the middle. Nothing of that step is kept: the checkpoint is that of the step before.
StepReport Trainer::take_step_or_give_up() {
  const auto before = carried_state();
  try {
    const DiscardableWork one_step;
    return take_step();
  } catch (const Interrupted&) {
    --step_;
    if (step_ > 0 && !is_due(options_.run.checkpoint_every)) save_checkpoint(before);
    throw;
  }
}

StepReport Trainer::take_step() {
  ++step_;
  // Each step seeds its own random numbers, so that no generator state needs to be saved.
  at::manual_seed(static_cast<uint64_t>(options_.run.seed) * 1000003 + static_cast<uint64_t>(step_));
  StepReport report;
  report.step = step_;
  report.steps = options_.run.steps;
  report.learning_rate = learning_rate(options_.optimizer, step_, options_.run.steps);
  const bool wants_slow = is_line_due();
  const auto targets = task_.draw(options_.optimizer.accumulation);
  double objective = 0;
  for (int64_t index = 0; index < options_.optimizer.accumulation; ++index) {
    auto losses = task_.losses(index, wants_slow);
    const auto loss = losses.objective / static_cast<double>(std::max<int64_t>(1, targets));
    loss.backward();
    objective += loss.item<double>();
    report.adapted += losses.adapted;
    report.slow += losses.slow;
  }
  report.norm = optimizer_.gradient_norm();
  report.skipped = guard_.objection(objective, report.norm);
  if (report.skipped.empty())
    optimizer_.step(report.learning_rate, report.norm);
  else
    task_.forget();
  optimizer_.clear_gradients();
  return report;
}

// Times and speeds are means over the steps since the last line.
void Trainer::report_step(StepReport& report, double started) {
  since_line_.seconds += seconds_now() - started;
  since_line_.tokens += report.adapted.count;
  ++since_line_.steps;
  report.seconds = since_line_.seconds / static_cast<double>(since_line_.steps);
  report.tokens_per_second = static_cast<double>(since_line_.tokens) / since_line_.seconds;
  const double flops = facts_.flops_per_token * report.tokens_per_second;
  peak_flops_ = std::max(peak_flops_, flops);  // the measurement at the start may have been too low
  report.share_of_peak = peak_flops_ > 0 ? flops / peak_flops_ : 0;
  report.seconds_left = report.seconds * static_cast<double>(options_.run.steps - step_);
  observer_.on_step(report);
  if (!is_line_due() && report.skipped.empty()) return;
  record_step(report);
  since_line_ = {};
}

void Trainer::record_step(const StepReport& report) {
  nlohmann::json line = {{"event", "step"},
                         {"step", report.step},
                         {"loss", report.adapted.mean()},
                         {"norm", report.norm},
                         {"lr", report.learning_rate},
                         {"seconds", report.seconds},
                         {"tokens_per_second", report.tokens_per_second}};
  if (report.slow.count > 0) line["slow"] = report.slow.mean();
  if (!report.skipped.empty()) line["skipped"] = report.skipped;
  for (const auto& [name, value] : task_.step_sizes()) line["step_sizes"][name] = value;
  record_.add(line);
}

void Trainer::stop_if_hopeless() const {
  if (!guard_.has_had_enough()) return;
  const auto good = checkpoints_.latest();
  fail(fmt::format("step {}", step_), "losses and gradients of the usual size",
       fmt::format("{} bad steps in a row", options_.run.max_skipped),
       fmt::format("a learning rate that is too high? The last good checkpoint: {}", good.value_or("none yet")));
}

void Trainer::validate() {
  ValidationReport report{step_, {}, false};
  is_validation_due_ = true;
  try {
    const DiscardableWork one_validation;
    report.validation = task_.validate(observer_.validation_progress());
  } catch (const Interrupted&) {  // done again on resume
    if (step_ > 0) save_checkpoint();
    throw;
  }
  is_validation_due_ = false;
  const double loss = report.validation.adapted.mean();
  report.is_best = step_ > 0 && std::isfinite(loss) && (!has_best_ || loss < best_loss_);
  if (report.is_best) {
    has_best_ = true;
    best_loss_ = loss;
    task_.save_model(inside("best"));
  }
  record_.add({{"event", "valid"},
               {"step", step_},
               {"loss", loss},
               {"slow", report.validation.slow.mean()},
               {"tokens", report.validation.adapted.count},
               {"seconds", report.validation.seconds},
               {"is_best", report.is_best}});
  observer_.on_validation(report);
}

void Trainer::save_checkpoint() {
  save_checkpoint(carried_state());
}

void Trainer::save_checkpoint(const CarriedState& carried) {
  auto tensors = carried.tensors;
  optimizer_.append_to(tensors);
  checkpoints_.save(step_, tensors,
                    {{"step", step_},
                     {"config", options_.config},
                     {"position", carried.position},
                     {"is_validation_due", is_validation_due_},
                     {"guard", guard_.to_json()},
                     {"best_loss", has_best_ ? nlohmann::json(best_loss_) : nlohmann::json()}});
  observer_.on_checkpoint(step_);
}

}  // namespace fwl
