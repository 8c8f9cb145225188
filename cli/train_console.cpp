#include "cli/train_console.h"

#include <fmt/format.h>

#include <cmath>

#include "files/folder.h"

namespace fwl {
namespace {

std::string loss_text(const LossSum& loss) {
  return loss.count > 0 ? fmt::format("{:.4f}", loss.mean()) : std::string("-");
}

}  // namespace

FileLock lock_run(const std::string& folder, RankGroup& ranks) {
  FileLock lock;
  on_first_rank(ranks, [&] {
    make_folder(folder);
    lock = FileLock(folder);
  });
  return lock;
}

std::string step_line(const StepReport& report) {
  return fmt::format(
      "step {}/{} | loss {} | slow {} | fast {} | norm {:.3f} | lr {:.2e} | {:.0f} ms | {:.0f} tok/s | {:.0f} % of "
      "peak "
      "| ETA {}",
      report.step, report.steps, loss_text(report.adapted), loss_text(report.slow), loss_text(report.adapted),
      report.norm, report.learning_rate, report.seconds * 1e3, report.tokens_per_second, report.share_of_peak * 100,
      format_duration(report.seconds_left));
}

void TrainConsole::on_start(int64_t parameters, const TaskFacts& facts, double peak_flops, int64_t done_steps) {
  console_.note(fmt::format("{} parameters, {} tokens per step, {} FLOPs per token; best matrix product {:.0f} GFLOP/s",
                            format_amount(static_cast<double>(parameters), ""), facts.tokens_per_step,
                            format_amount(facts.flops_per_token, ""), peak_flops / 1e9));
  if (done_steps >= steps_)
    console_.note(fmt::format("the run is finished: {} steps; a larger --run.steps extends it", done_steps));
  else if (done_steps > 0)
    console_.note(fmt::format("resuming after step {}", done_steps));
}

void TrainConsole::on_step(const StepReport& report) {
  if (!report.skipped.empty()) {
    console_.note(fmt::format("step {}/{} skipped: {}", report.step, report.steps, report.skipped));
    return;
  }
  if (report.step == 1 || report.step % log_every_ == 0 || report.step == report.steps)
    console_.note(step_line(report));
}

void TrainConsole::on_validation(const ValidationReport& report) {
  const auto& [adapted, slow, seconds] = report.validation;
  console_.note(
      fmt::format("valid {} | loss {:.4f} | slow {:.4f} | perplexity {:.3f} | bits {:.4f} | {} tokens in {:.1f} s{}",
                  report.step, adapted.mean(), slow.mean(), std::exp(adapted.mean()), adapted.mean() / std::log(2.0),
                  adapted.count, seconds, report.is_best ? " | best" : ""));
}

void TrainConsole::on_checkpoint(int64_t step) {
  console_.note(fmt::format("checkpoint at step {}", step));
}

}  // namespace fwl
