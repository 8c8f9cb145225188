// `fwl analyze`: where one method beats another, by position, frequency and repetition.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_name.h"
#include "data/token_file.h"
#include "evaluate/analysis.h"
#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

struct Options {
  std::vector<std::string> losses;
  std::string train_tokens, tokens, tokenizer;
  int64_t top = 10;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  fields
      .add("losses", options.losses,
           "two loss files of fwl perplexity --save-nll, before and after: FILE or FILE:METHOD")
      .positional()
      .required();
  fields.add("train_tokens", options.train_tokens, "training data, for the gain by frequency");
  fields.add("tokens", options.tokens, "token file of the scored text, to show the top gains in context");
  fields.add("tokenizer", options.tokenizer, "vocabulary of --tokens, to show them as text");
  fields.add("top", options.top, "number of gains and losses to show in context").range(0, 1000);
  fields.add("json", options.json, "print the result as JSON");
}

void print(Console& console, const char* title, const std::vector<GainGroup>& groups, const NllPair& pair) {
  console.out() << fmt::format("\n{:<24} {:>10} {:>10} {:>10} {:>10} {:>9} {:>8}\n", title, "tokens", pair.before_name,
                               pair.after_name, "gain", "± se", "%");
  for (const auto& group : groups)
    console.out() << fmt::format("{:<24} {:>10} {:>10.4f} {:>10.4f} {:>10.4f} {:>9.4f} {:>8.2f}\n", group.name,
                                 group.tokens, group.before, group.after, group.gain, group.standard_error,
                                 100 * (1 - std::exp(-group.gain)));
}

nlohmann::json to_json(const std::vector<GainGroup>& groups) {
  auto json = nlohmann::json::array();
  for (const auto& group : groups)
    json.push_back({{"group", group.name},
                    {"tokens", group.tokens},
                    {"before", group.before},
                    {"after", group.after},
                    {"gain", group.gain},
                    {"standard_error", group.standard_error}});
  return json;
}

void print_extremes(Console& console, const Options& options, const NllPair& pair) {
  if (options.top == 0 || options.tokens.empty() || options.tokenizer.empty()) return;
  const TokenFile file(options.tokens);
  if (to_hex(file.ids_hash()) != pair.data_hash) fail(options.tokens, "the text that was scored", "another one");
  const auto tokenizer = open_tokenizer(options.tokenizer);
  if (file.tokenizer_hash() != tokenizer->hash())
    fail(options.tokens, "tokens of " + options.tokenizer, fmt::format("tokens of '{}'", file.tokenizer_name()),
         "tokenized with another vocabulary");
  constexpr int64_t context_tokens = 24;
  const auto text = [&](int64_t first, int64_t past) {
    std::vector<TokenId> ids(static_cast<size_t>(std::max<int64_t>(0, past - first)));
    file.read(first, std::span<TokenId>(ids));
    return printable(tokenizer->decode(ids));
  };
  const auto show = [&](const char* title, const std::vector<size_t>& indices) {
    console.out() << '\n' << title << '\n';
    for (const auto index : indices) {
      const int64_t target = pair.targets[index];
      if (target >= file.size()) fail(options.losses[0], "losses of the text's tokens", "of others");
      console.out() << fmt::format("{:+8.3f}  …{}[{}]\n", pair.before[index] - pair.after[index],
                                   text(std::max<int64_t>(0, target - context_tokens), target),
                                   text(target, target + 1));
    }
  };
  const auto found = extremes(pair, static_cast<size_t>(options.top));
  show("gained most", found.gains);
  show("lost most", found.losses);
}

int run(Options& options, Console& console) {
  if (options.losses.size() != 2)
    throw UsageError(
        error_line("fwl analyze", "two loss files, before and after", std::to_string(options.losses.size())));
  options.tokenizer = find_tokenizer(options.tokenizer, console);
  const auto pair = load_pair(options.losses[0], options.losses[1]);
  if (pair.ids.empty()) fail(options.losses[0], "losses", "none");
  const auto counts = options.train_tokens.empty() ? std::vector<int64_t>() : count_ids(options.train_tokens);
  const auto position = gain_by_position(pair), repetition = gain_by_repetition(pair);
  const auto frequency = counts.empty() ? std::vector<GainGroup>() : gain_by_frequency(pair, counts);
  if (options.json) {
    console.out() << nlohmann::json{{"before", pair.before_name},
                                    {"after", pair.after_name},
                                    {"position", to_json(position)},
                                    {"repetition", to_json(repetition)},
                                    {"frequency", to_json(frequency)}}
                         .dump()
                  << '\n';
    return 0;
  }
  print(console, "position in document", position, pair);
  print(console, "occurred before", repetition, pair);
  if (!frequency.empty()) print(console, "frequency in training", frequency, pair);
  print_extremes(console, options, pair);
  return 0;
}

}  // namespace

Command analyze_command() {
  return make_command<Options>("analyze", "show where one method beats another: by position, repetition, frequency",
                               "examples:\n"
                               "  fwl analyze test.nll:static test.nll:fwl --train-tokens data/enwik8/train.tokens\n"
                               "  fwl analyze a.nll b.nll --tokens text.tokens --tokenizer words.vocab",
                               describe, run);
}

}  // namespace fwl
