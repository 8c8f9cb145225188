// `fwl attach`: trains a fast weight layer on a pretrained model.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/model_name.h"
#include "cli/text_input.h"
#include "cli/train_console.h"
#include "files/folder.h"
#include "store/open_base.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "train/attach_task.h"
#include "train/trainer.h"
#include "train/warm_start.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

struct Options {
  AttachConfig attach;
  EngineFlags engine;
  TextInput input;
  std::string out, cache, start;
  bool resume = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input).required();
  fields.add("out", options.out, "folder of the run; the adapter is written to model/ in it").required();
  fields.add("cache", options.cache,
             "folder for tokens and hidden states (2 bytes per value); empty: cache/ in the run");
  fields.add("resume", options.resume, "resume the run in that folder, if there is one; a larger run.steps extends it");
  fields.add("start_from", options.start, "start from the weights of this adapter or run of fwl attach");
  add_fields(fields, options.engine);
  add_fields(fields, options.attach);
}

AttachText open_text(const Options& options, const std::vector<std::string>& text, const char* name, Console& console) {
  if (text.empty()) return {};
  const auto folder = options.cache.empty() ? fs::path(options.out) / "cache" : fs::path(options.cache);
  const auto made = (folder / fmt::format("{}.tokens", name)).string();
  auto& ranks = this_group();
  FileLock lock;  // until they are open: another run may have another text
  on_first_rank(ranks, [&] {
    make_folder(folder.string());
    lock = FileLock(made);
  });
  const auto path = token_file_of(text, options.input.documents, options.attach.base, made, console);
  auto tokens = std::make_shared<const TokenFile>(path);
  ranks.barrier();
  const auto tokenizer = open_tokenizer(options.attach.base);
  if (tokens->tokenizer_hash() != tokenizer->hash())
    fail(path, fmt::format("tokens of {}", options.attach.base), fmt::format("tokens of {}", tokens->tokenizer_name()),
         "tokenized with another vocabulary");
  return {std::move(tokens), (folder / fmt::format("{}.hidden", name)).string()};
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto device = apply(options.engine);
  auto& ranks = this_group();
  first_rank_first(ranks, [&] { options.attach.base = find_model("--base", options.attach.base, console); });
  auto lock = lock_run(options.out, ranks);
  auto base = open_base(options.attach.base, WeightFormat::fp32);
  base->to(device);
  AttachTask task(options.attach, std::move(base), open_text(options, options.input.text, "train", console),
                  open_text(options, options.input.valid_text, "valid", console), ranks,
                  console.progress("hidden states"));
  Fields fields;
  add_fields(fields, options.attach);
  if (!options.start.empty()) {
    first_rank_first(ranks, [&] { options.start = find_adapter(options.start, console); });
    start_from(task.parameters(), open_adapter_weights(options.start));
    fields.add("start_from", options.start, "");
  }
  TrainConsole observer(console, options.attach.run);
  Trainer trainer(
      task,
      {options.attach.optimizer, options.attach.run, options.out, fields.to_json(), options.resume, std::move(lock)},
      observer, ranks);
  trainer.run();
  if (ranks.is_first()) console.out() << (fs::path(options.out) / "model").string() << '\n';
  return 0;
}

}  // namespace

Command attach_command() {
  return make_command<Options>(
      "attach", "train a fast weight layer on a pretrained model",
      "examples:\n"
      "  fwl attach --base smollm2.gguf --text books/ --valid-text held-out.txt --out runs/books\n"
      "  fwl attach --base gpt2/ --text a.txt --train-base --segment-tokens 1024 --window-tokens 1024 --out runs/gpt2",
      describe, run);
}

}  // namespace fwl
