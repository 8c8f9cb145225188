// `fwl session`: shows, copies or edits a session file.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_name.h"
#include "cli/session_input.h"
#include "files/file_lock.h"
#include "generate/session_tools.h"
#include "store/open_model.h"
#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

struct Options {
  std::vector<std::string> arguments;
  std::string model, adapter;
  BlockConfig blocks;
  double factor = 0.5;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("arguments", options.arguments, "show FILE | drop-context FILE | reset FILE | decay FILE | copy FILE TO")
      .positional()
      .required();
  fields.add("factor", options.factor, "decay: factor on the update of the fast weights").range(0, 1);
  fields.add("model", options.model, "show: the session's model, to show the drift of its fast weights")
      .short_name("m");
  fields.add("adapter", options.adapter, "show: the session's adapter");
  add_fields(fields, options.blocks);
  fields.add("json", options.json, "show: print the result as JSON");
}

std::vector<DriftFigure> drift_in_file(Options& options, Console& console) {
  if (options.model.empty()) return {};
  options.model = find_model("--model", options.model, console);
  options.adapter = find_adapter(options.adapter, console);
  const auto opened = with_blocks(
      open_model(options.model, options.adapter, WeightFormat::quantized, console.progress("open")), options.blocks);
  const auto session = opened.model->load_session(options.arguments[1], opened.identity);
  return opened.model->drift(session);
}

nlohmann::json to_json(const SessionFacts& facts, const std::vector<DriftFigure>& drift) {
  nlohmann::json json = {{"architecture", facts.header.architecture},
                         {"model", facts.header.model},
                         {"sequences", facts.header.sequences},
                         {"tokens_read", facts.header.tokens_read},
                         {"cached_tokens", facts.header.cached_tokens},
                         {"fast_tokens", facts.header.fast_tokens},
                         {"base_bytes", facts.base_bytes},
                         {"fast_bytes", facts.fast_bytes},
                         {"state", nlohmann::json::object()},
                         {"drift", nlohmann::json::object()}};
  for (const auto& norm : facts.state) json["state"][norm.tensor] = norm.norm;
  for (const auto& figure : drift)
    json["drift"][figure.weight] = {
        {"update_norm", figure.update_norm}, {"weight_norm", figure.weight_norm}, {"drift", figure.drift}};
  return json;
}

void print(Console& console, const SessionFacts& facts, const std::vector<DriftFigure>& drift) {
  auto& out = console.out();
  out << fmt::format(
      "architecture  {}\nmodel         {}\ntokens read   {} ({} in the KV cache, {} in the fast weights)\n",
      facts.header.architecture, facts.header.model, facts.header.tokens_read, facts.header.cached_tokens,
      facts.header.fast_tokens);
  out << fmt::format("memory        {} of the base, {} of fast weights\n",
                     format_amount(static_cast<double>(facts.base_bytes), "bytes"),
                     format_amount(static_cast<double>(facts.fast_bytes), "bytes"));
  if (facts.state.empty()) return;
  out << fmt::format("\n{:<16} {:>14}\n", "state", "norm");
  for (const auto& norm : facts.state) out << fmt::format("{:<16} {:>14.6g}\n", norm.tensor, norm.norm);
  if (drift.empty()) {
    out << "(--model shows the drift of each weight)\n";
    return;
  }
  out << fmt::format("\n{:<16} {:>14} {:>14} {:>10}\n", "weight", "|update|", "|weight|", "drift");
  for (const auto& figure : drift)
    out << fmt::format("{:<16} {:>14.6g} {:>14.6g} {:>9.2f}%\n", figure.weight, figure.update_norm, figure.weight_norm,
                       100 * figure.drift);
}

int run(Options& options, Console& console) {
  const auto& given = options.arguments;
  const std::vector<std::string> actions = {"show", "drop-context", "reset", "decay", "copy"};
  if (std::ranges::find(actions, given[0]) == actions.end())
    throw UsageError(error_line("fwl session", "show, drop-context, reset, decay or copy", given[0],
                                did_you_mean(given[0], actions)));
  const size_t files = given[0] == "copy" ? 2 : 1;
  if (given.size() != files + 1)
    throw UsageError(
        error_line("fwl session " + given[0], files == 2 ? "two files" : "one file", std::to_string(given.size() - 1)));
  const auto lock = given[0] == "show" ? FileLock() : FileLock(given.back());
  if (given[0] == "drop-context") {
    drop_context(given[1]);
  } else if (given[0] == "reset") {
    reset_session(given[1]);
  } else if (given[0] == "decay") {
    decay_session(given[1], options.factor);
  } else if (given[0] == "copy") {
    copy_session(given[1], given[2]);
  } else {
    const auto facts = describe_session(given[1]);
    const auto drift = drift_in_file(options, console);
    if (options.json)
      console.out() << to_json(facts, drift).dump() << '\n';
    else
      print(console, facts, drift);
  }
  return 0;
}

}  // namespace

Command session_command() {
  return make_command<Options>("session", "show, copy, reset or decay a session file, or drop its context",
                               "examples:\n"
                               "  fwl session show book.session --model smollm2.gguf --adapter runs/books/model\n"
                               "  fwl session drop-context book.session      keeps what the fast weights have learned\n"
                               "  fwl session decay book.session --factor 0.5\n"
                               "  fwl session copy book.session draft.session",
                               describe, run);
}

}  // namespace fwl
