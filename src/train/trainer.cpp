#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "engine/device.h"
#include "engine/gemm_speed.h"
#include "engine/torch.h"
#include "support/discardable.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "train/schedule.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t seed_distance = 0x9E3779B97F4A7C15;  // between the seeds of neighbouring ranks

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Settings that may change on resume: file paths (the data hash is checked), and settings that do not affect weights.
constexpr const char* free_keys[] = {"/data/train",       "/data/valid",           "/data/tokenizer",
                                     "/run/log_every",    "/run/keep_checkpoints", "/run/checkpoint_every",
                                     "/optimizer/sharded"};

void check_same_config(const std::string& where, nlohmann::json before, nlohmann::json now) {
  for (const auto* key : free_keys) {
    const nlohmann::json::json_pointer pointer(key);
    for (auto* json : {&before, &now}) (*json)[pointer] = nullptr;
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

Trainer::Trainer(TrainingTask& task, TrainerOptions options, TrainObserver& observer, RankGroup& ranks)
    : task_(task),
      options_(std::move(options)),
      observer_(observer),
      ranks_(ranks),
      optimizer_(task.parameters(), task.step_parameter_names(), options_.optimizer, ranks),
      device_(optimizer_.parameters().front().second.device()),
      exchange_(optimizer_.parameters(), ranks),
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
    wait_for(device_);
    report_step(report, started);
    stop_if_hopeless();
    if (task_.can_validate() && is_due(options_.run.valid_every)) validate();
    if (is_due(options_.run.checkpoint_every)) save_checkpoint();
    stop_if_interrupted();
  }
  on_first_rank(ranks_, [&] { task_.save_model(inside("model")); });
}

void Trainer::stop_if_interrupted() {
  const int signal = ranks_.size() == 1 ? received_interrupt() : agreed_signal_;
  if (signal == 0) return;
  if (!is_due(options_.run.checkpoint_every)) save_checkpoint();
  throw Interrupted(signal);
}

void Trainer::start_or_resume() {
  const auto latest = checkpoint_to_resume();
  peak_flops_ = gemm_flops_per_second(device_) * static_cast<double>(ranks_.size());
  if (latest) {
    resume(checkpoints_.path_of(*latest));
  } else {
    if (ranks_.is_first()) record_.start();
    note({{"event", "start"},
          {"config", options_.config},
          {"environment", environment_json(ranks_.size())},
          {"data", task_.data_facts()},
          {"parameters", optimizer_.count()},
          {"flops_per_token", facts_.flops_per_token},
          {"step", 0}});
  }
  share_parameters();
  if (ranks_.is_first()) observer_.on_start(optimizer_.count(), facts_, peak_flops_, step_);
}

// The first rank looks, for all.
std::optional<int64_t> Trainer::checkpoint_to_resume() {
  constexpr int64_t none = -1;
  auto step = at::full({1}, none, at::kLong);
  if (ranks_.is_first()) {
    checkpoints_.prepare();
    step.fill_(checkpoints_.latest_step().value_or(none));
  }
  ranks_.broadcast(step, 0);
  if (step.item<int64_t>() == none) return std::nullopt;
  if (!options_.resumes)
    fail(options_.folder, "a folder without a run", "one with checkpoints", "--resume goes on with that run");
  return step.item<int64_t>();
}

// Different machines may make different fresh weights of one seed.
void Trainer::share_parameters() {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : optimizer_.parameters()) ranks_.broadcast(tensor.detach(), 0);
}

void Trainer::note(const nlohmann::json& line) {
  if (ranks_.is_first()) record_.add(line);
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
  if (ranks_.is_first()) record_.go_on_after(step_);
  note({{"event", "resume"},
        {"step", step_},
        {"steps", options_.run.steps},
        {"environment", environment_json(ranks_.size())}});
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
// Ranks stop together, after a step.
StepReport Trainer::take_step_or_give_up() {
  if (ranks_.size() > 1) return take_step();
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
  // Each step seeds its own random numbers, so that no generator state needs to be saved; each rank has others.
  at::manual_seed(static_cast<uint64_t>(options_.run.seed) * 1000003 + static_cast<uint64_t>(step_) +
                  static_cast<uint64_t>(ranks_.rank()) * seed_distance);
  StepReport report;
  report.step = step_;
  report.steps = options_.run.steps;
  report.learning_rate = learning_rate(options_.optimizer, step_, options_.run.steps);
  const bool wants_slow = is_line_due();
  const auto targets = task_.draw(options_.optimizer.accumulation);
  LossSum objective, signals{static_cast<double>(received_interrupt()), received_interrupt() != 0};
  for (int64_t index = 0; index < options_.optimizer.accumulation; ++index) {
    auto losses = task_.losses(index, wants_slow);
    const auto loss = losses.objective / static_cast<double>(std::max<int64_t>(1, targets));
    if (index + 1 == options_.optimizer.accumulation) exchange_.open();
    loss.backward();
    objective.sum += loss.item<double>();
    report.adapted += losses.adapted;
    report.slow += losses.slow;
  }
  exchange_.finish();
  sum_over(ranks_, {&objective, &report.adapted, &report.slow, &signals});
  agreed_signal_ = static_cast<int>(signals.mean());
  report.norm = optimizer_.gradient_norm();
  report.skipped = guard_.objection(objective.sum, report.norm);
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
  report.exchange_seconds =
      (exchange_.waited_seconds() - since_line_.waited_before) / static_cast<double>(since_line_.steps);
  report.tokens_per_second = static_cast<double>(since_line_.tokens) / since_line_.seconds;
  const double flops = facts_.flops_per_token * report.tokens_per_second;
  peak_flops_ = std::max(peak_flops_, flops);  // the measurement at the start may have been too low
  report.share_of_peak = peak_flops_ > 0 ? flops / peak_flops_ : 0;
  report.seconds_left = report.seconds * static_cast<double>(options_.run.steps - step_);
  if (ranks_.is_first()) observer_.on_step(report);
  if (!is_line_due() && report.skipped.empty()) return;
  record_step(report);
  since_line_ = {.waited_before = exchange_.waited_seconds()};
}

void Trainer::record_step(const StepReport& report) {
  nlohmann::json line = {{"event", "step"},
                         {"step", report.step},
                         {"loss", report.adapted.mean()},
                         {"norm", report.norm},
                         {"lr", report.learning_rate},
                         {"seconds", report.seconds},
                         {"tokens_per_second", report.tokens_per_second}};
  if (ranks_.size() > 1) line["exchange_seconds"] = report.exchange_seconds;
  if (report.slow.count > 0) line["slow"] = report.slow.mean();
  if (!report.skipped.empty()) line["skipped"] = report.skipped;
  for (const auto& [name, value] : task_.step_sizes()) line["step_sizes"][name] = value;
  note(line);
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
    std::optional<DiscardableWork> may_end_early;  // ranks stop together, after it
    if (ranks_.size() == 1) may_end_early.emplace();
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
    if (ranks_.is_first()) task_.save_model(inside("best"));
  }
  note({{"event", "valid"},
        {"step", step_},
        {"loss", loss},
        {"slow", report.validation.slow.mean()},
        {"tokens", report.validation.adapted.count},
        {"seconds", report.validation.seconds},
        {"is_best", report.is_best}});
  if (ranks_.is_first()) observer_.on_validation(report);
}

void Trainer::save_checkpoint() {
  save_checkpoint(carried_state());
}

void Trainer::save_checkpoint(const CarriedState& carried) {
  auto tensors = carried.tensors;
  optimizer_.append_to(tensors);
  if (!ranks_.is_first()) return;
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
