// `fwl train`: trains a model from scratch, as a config file describes it.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/train_console.h"
#include "files/folder.h"
#include "support/interrupt.h"
#include "train/text_task.h"
#include "train/trainer.h"

namespace fwl {
namespace {

struct Options {
  TrainConfig train;
  EngineFlags engine;
  std::string out;
  bool resume = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("out", options.out, "folder of the run: checkpoints, best and last model, record.jsonl").required();
  fields.add("resume", options.resume, "resume the run in that folder, if there is one");
  add_fields(fields, options.engine);
  add_fields(fields, options.train);
}

nlohmann::json config_json(TrainConfig& config) {
  Fields fields;
  add_fields(fields, config);
  return fields.to_json();
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto device = apply(options.engine);
  make_folder(options.out);
  FileLock lock(options.out);
  TextTask task(options.train, device);
  TrainConsole observer(console, options.train.run.log_every);
  Trainer trainer(task,
                  {options.train.optimizer, options.train.run, options.out, config_json(options.train), options.resume,
                   std::move(lock)},
                  observer);
  trainer.run();
  console.out() << (std::filesystem::path(options.out) / "model").string() << '\n';
  return 0;
}

}  // namespace

Command train_command() {
  return make_command<Options>("train", "train a language model from scratch",
                               "examples:\n"
                               "  fwl train --config config/enwik8-sparse.toml --out runs/enwik8-fwl\n"
                               "  fwl train --config config/enwik8-sparse.toml --set run.seed=2 --out runs/seed-2\n"
                               "  fwl train --config config/enwik8-sparse.toml --out runs/enwik8-fwl --resume",
                               describe, run);
}

}  // namespace fwl
