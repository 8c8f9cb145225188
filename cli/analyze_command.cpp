// `fwl analyze`: where one method beats another, by position, frequency and repetition.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/model_name.h"
#include "evaluate/analysis.h"
#include "report/recalled_terms.h"
#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

struct Options {
  std::vector<std::string> losses;
  std::string train_tokens, tokens, tokenizer;
  int64_t top = 10;
  bool terms = false, json = false;
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
  fields.add("terms", options.terms,
             "only the names and terms from before the base's window that one method predicts and the other does not");
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

std::string in_context(const ScoredText& text, int64_t first, int64_t past) {
  constexpr int64_t context_tokens = 24;
  return fmt::format("…{}[{}]", printable(text.text(first - context_tokens, first)), printable(text.text(first, past)));
}

void print_extremes(Console& console, const Options& options, const NllPair& pair, const ScoredText& text) {
  const auto show = [&](const char* title, const std::vector<size_t>& indices) {
    console.out() << '\n' << title << '\n';
    for (const auto index : indices)
      console.out() << fmt::format("{:+8.3f}  {}\n", pair.before[index] - pair.after[index],
                                   in_context(text, pair.targets[index], pair.targets[index] + 1));
  };
  const auto found = extremes(pair, static_cast<size_t>(options.top));
  show("gained most", found.gains);
  show("lost most", found.losses);
}

void print_terms(Console& console, const Options& options, const NllPair& pair, const ScoredText& text,
                 int64_t window_tokens) {
  auto& out = console.out();
  const auto recall = recalled_terms(pair, text, window_tokens);
  if (recall.terms == 0) {
    out << "\nno names or terms from before the window\n";
    return;
  }
  out << fmt::format(
      "\n{} times a name or term comes back that was read before the window of {} tokens, and not yet in it.\n"
      "{} predicts {}, {} {}: {} that {} does not predict; {} are lost.\n",
      recall.terms, window_tokens, pair.before_name, recall.before_predicts, pair.after_name, recall.after_predicts,
      recall.gained.size(), pair.before_name, recall.lost.size());
  const auto show = [&](const std::string& method, const std::vector<RecalledTerm>& terms) {
    if (terms.empty() || options.top == 0) return;
    out << fmt::format("\npredicted by {} alone (probability under {} and {}, tokens since it was read)\n", method,
                       pair.before_name, pair.after_name);
    for (size_t index = 0; index < std::min(terms.size(), static_cast<size_t>(options.top)); ++index)
      out << fmt::format("{:5.2f} {:5.2f} {:>7}  {}\n", terms[index].before, terms[index].after, terms[index].distance,
                         in_context(text, terms[index].first, terms[index].past));
  };
  show(pair.after_name, recall.gained);
  show(pair.before_name, recall.lost);
}

nlohmann::json to_json(const Recall& recall) {
  const auto list = [](const std::vector<RecalledTerm>& terms) {
    auto json = nlohmann::json::array();
    for (const auto& term : terms)
      json.push_back({{"word", term.word},
                      {"token", term.first},
                      {"distance", term.distance},
                      {"before", term.before},
                      {"after", term.after}});
    return json;
  };
  return {{"terms", recall.terms},
          {"before_predicts", recall.before_predicts},
          {"after_predicts", recall.after_predicts},
          {"gained", list(recall.gained)},
          {"lost", list(recall.lost)}};
}

int run(Options& options, Console& console) {
  if (options.losses.size() != 2)
    throw UsageError(
        error_line("fwl analyze", "two loss files, before and after", std::to_string(options.losses.size())));
  options.tokenizer = find_tokenizer(options.tokenizer, console);
  const auto pair = load_pair(options.losses[0], options.losses[1]);
  if (pair.ids.empty()) fail(options.losses[0], "losses", "none");
  const int64_t window_tokens = window_of(result_of_losses(loss_file_of(options.losses[1])));
  std::optional<ScoredText> text;
  if (!options.tokens.empty() && !options.tokenizer.empty())
    text.emplace(options.tokens, options.tokenizer, pair.data_hash);
  if (options.terms && !text) fail("--terms", "--tokens and --tokenizer, to know the words", "only losses");
  if (options.terms && !options.json) {
    print_terms(console, options, pair, *text, window_tokens);
    return 0;
  }
  const auto counts = options.train_tokens.empty() ? std::vector<int64_t>() : count_ids(options.train_tokens);
  const auto position = gain_by_position(pair), repetition = gain_by_repetition(pair);
  const auto frequency = counts.empty() ? std::vector<GainGroup>() : gain_by_frequency(pair, counts);
  if (options.json) {
    console.out() << nlohmann::json{{"before", pair.before_name},
                                    {"after", pair.after_name},
                                    {"position", to_json(position)},
                                    {"repetition", to_json(repetition)},
                                    {"frequency", to_json(frequency)},
                                    {"terms",
                                     text ? to_json(recalled_terms(pair, *text, window_tokens)) : nlohmann::json()}}
                         .dump()
                  << '\n';
    return 0;
  }
  print(console, "position in document", position, pair);
  print(console, "occurred before", repetition, pair);
  if (!frequency.empty()) print(console, "frequency in training", frequency, pair);
  if (!text) return 0;
  if (options.top > 0) print_extremes(console, options, pair, *text);
  print_terms(console, options, pair, *text, window_tokens);
  return 0;
}

}  // namespace

Command analyze_command() {
  return make_command<Options>("analyze", "show where one method beats another: by position, repetition, frequency",
                               "examples:\n"
                               "  fwl analyze test.nll:static test.nll:fwl --train-tokens data/enwik8/train.tokens\n"
                               "  fwl analyze a.nll b.nll --tokens text.tokens --tokenizer words.vocab\n"
                               "  fwl analyze a.nll:static a.nll:fwl --terms --tokens text.tokens --tokenizer smollm2",
                               describe, run);
}

}  // namespace fwl
