// `fwl train`: trains a model from scratch, or from the weights of an earlier one, as a config file describes it.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/model_name.h"
#include "cli/text_input.h"
#include "cli/train_console.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "train/text_task.h"
#include "train/trainer.h"
#include "train/warm_start.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

struct Options {
  TrainConfig train;
  EngineFlags engine;
  TextInput input;
  std::string out, start;
  bool resume = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("out", options.out, "folder of the run: checkpoints, best and last model, record.jsonl, steps.csv")
      .required();
  fields.add("resume", options.resume, "resume the run in that folder, if there is one; a larger run.steps extends it");
  fields.add("start_from", options.start, "start from the weights of this model or run of fwl train");
  add_fields(fields, options.input);
  add_fields(fields, options.engine);
  add_fields(fields, options.train);
}

// Texts come before the token files of a config.
void tokenize_texts(Options& options, Console& console) {
  const auto& input = options.input;
  auto& data = options.train.data;
  first_rank_first(this_group(), [&] { data.tokenizer = find_tokenizer(data.tokenizer, console); });
  if (input.text.empty() && !input.valid_text.empty())
    throw UsageError(error_line("--valid-text", "--text too", "only --valid-text"));
  if (input.text.empty()) return;
  const auto tokenizer = data.tokenizer.empty() ? std::string("bytes") : data.tokenizer;
  const auto tokens = [&](const std::vector<std::string>& text, const char* name) {
    const auto path = (fs::path(options.out) / "cache" / fmt::format("{}.tokens", name)).string();
    return text.empty() ? std::string() : token_file_of(text, input.documents, tokenizer, path, console);
  };
  data.train = tokens(input.text, "train");
  data.valid = tokens(input.valid_text, "valid");
}

nlohmann::json config_json(Options& options) {
  Fields fields;
  add_fields(fields, options.train);
  if (!options.start.empty()) fields.add("start_from", options.start, "");
  return fields.to_json();
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto device = apply(options.engine);
  auto& ranks = this_group();
  auto lock = lock_run(options.out, ranks);
  tokenize_texts(options, console);
  TextTask task(options.train, device, ranks);
  if (!options.start.empty()) {
    first_rank_first(ranks, [&] { options.start = find_model("--start-from", options.start, console); });
    task.check_vocabulary(options.start);
    const SafetensorsFile weights((fs::path(options.start) / "model.safetensors").string());
    weights.expect_checksum("the weights of a model");
    start_from(task.parameters(), weights);
  }
  TrainConsole observer(console, options.train.run);
  Trainer trainer(
      task,
      {options.train.optimizer, options.train.run, options.out, config_json(options), options.resume, std::move(lock)},
      observer, ranks);
  trainer.run();
  if (ranks.is_first()) console.out() << (fs::path(options.out) / "model").string() << '\n';
  return 0;
}

}  // namespace

Command train_command() {
  return make_command<Options>("train", "train a language model from scratch",
                               "examples:\n"
                               "  fwl train --config config/tiny.toml --out runs/tiny\n"
                               "  fwl train --config config/tiny.toml --text book.txt --out runs/book\n"
                               "  fwl train --config config/enwik8-sparse.toml --set run.seed=2 --out runs/seed-2\n"
                               "  fwl train --config config/tiny.toml --out runs/tiny --resume --run.steps 400\n"
                               "  fwl train --config config/tiny.toml --text book.txt --start-from runs/tiny --out "
                               "runs/tiny-book",
                               describe, run);
}

}  // namespace fwl
