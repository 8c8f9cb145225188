// `fwl generate`: goes on with a text, token by token, while the fast weights learn what is read and written.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/writing_input.h"
#include "files/memory_map.h"
#include "generate/repetition.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/measure.h"

namespace fwl {
namespace {

struct Options {
  WritingInput input;
  WritingOptions writing;
  std::string prompt, file;
  int64_t samples = 1, seed = 0;
  bool shows_prompt = false, stats = false, json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields.add("prompt", options.prompt, "the text to go on with; - reads it from standard input").short_name("p");
  fields.add("file", options.file, "or a file that holds it").short_name("f");
  fields.add("max_tokens", options.writing.max_tokens, "how many tokens to write at most")
      .range(0, 1e12)
      .short_name("n");
  add_fields(fields, options.writing.sampler);
  fields.add("seed", options.seed, "of the random choices; a session goes on with its own").range(0, 1e15);
  fields.add("stop", options.writing.stops, "end before one of these texts");
  fields.add("ignore_end", options.writing.ignores_end, "go on after the model's end token");
  fields.add("n", options.samples, "so many continuations, with seeds counted up; a session keeps the last")
      .range(1, 1e9);
  fields.add("show_prompt", options.shows_prompt, "print the prompt before its continuation");
  fields.add("stats", options.stats, "tokens, speed and memory when done");
  fields.add("json", options.json, "print the result as JSON lines, one per continuation");
}

std::string prompt_text(const Options& options) {
  if (!options.prompt.empty() && !options.file.empty())
    throw UsageError(error_line("prompt", "--prompt or --file", "both"));
  if (!options.file.empty()) return std::string(MemoryMap(options.file).text());
  if (options.prompt == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return options.prompt;
}

const char* name_of(WritingEnd end) {
  if (end == WritingEnd::end_token) return "end_token";
  return end == WritingEnd::stop_text ? "stop" : "length";
}

double per_second(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

nlohmann::json to_json(const Options& options, const Written& written, const ReadingLoss& prompt, int64_t seed) {
  const auto repeats = repetition(written.tokens);
  return {{"model", options.input.model},
          {"adapt", options.input.adapt},
          {"text", written.text},
          {"tokens", written.tokens},
          {"finish_reason", name_of(written.end)},
          {"seed", seed},
          {"distinct", repeats.distinct},
          {"repeated_4_grams", repeats.repeated_4_grams()},
          {"prompt_tokens", prompt.tokens},
          {"prompt_nll", prompt.tokens > 0 ? prompt.sum / static_cast<double>(prompt.tokens) : 0.0},
          {"prompt_per_second", per_second(static_cast<double>(prompt.tokens), prompt.seconds)},
          {"tokens_per_second", per_second(static_cast<double>(written.tokens.size()), written.seconds)}};
}

void print_stats(Console& console, const ReadingLoss& prompt, const Written& written, const Session& session) {
  if (prompt.tokens > 0)
    console.note(fmt::format("prompt: {} tokens, perplexity {:.2f}, {:.1f} tok/s", prompt.tokens,
                             std::exp(prompt.sum / static_cast<double>(prompt.tokens)),
                             per_second(static_cast<double>(prompt.tokens), prompt.seconds)));
  const auto repeats = repetition(written.tokens);
  console.note(fmt::format("distinct 1- to 4-grams: {:.3f} {:.3f} {:.3f} {:.3f}", repeats.distinct[0],
                           repeats.distinct[1], repeats.distinct[2], repeats.distinct[3]));
  console.note(fmt::format("written: {} tokens ({}), {:.1f} tok/s; session: {} tokens read, {}; peak memory {}",
                           written.tokens.size(), name_of(written.end),
                           per_second(static_cast<double>(written.tokens.size()), written.seconds),
                           session.tokens_read(), format_amount(static_cast<double>(session.bytes()), "bytes"),
                           format_amount(peak_memory_bytes(), "bytes")));
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto prompt = prompt_text(options);
  WritingDesk desk(options.input, console);
  options.writing.adaptation = desk.adaptation();
  const bool is_new = desk.session().tokens_read() == 0;
  const auto loss = desk.writer().read(desk.encode_prompt(prompt), desk.adaptation(), console.progress("read"));
  if (is_new) desk.session().place.seed = options.seed;
  const auto start = options.samples > 1 ? desk.session().clone() : Session();
  auto& out = console.out();
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    if (sample > 0) {
      desk.session() = start.clone();
      desk.session().place.seed += sample;
    }
    if (!options.json && options.shows_prompt) out << prompt << std::flush;
    Written written;
    try {
      written = desk.writer().write(options.writing, [&](std::string_view text) {
        if (!options.json) out << text << std::flush;
      });
    } catch (const Interrupted&) {  // what was written so far has been read, and is kept
      if (!options.json) out << '\n';
      desk.save();
      throw;
    }
    if (options.json)
      out << to_json(options, written, loss, desk.session().place.seed)
                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          << std::endl;
    else
      out << '\n' << std::flush;
    if (options.stats) print_stats(console, loss, written, desk.session());
  }
  desk.save();
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<Options>(
      "generate", "go on with a text, learning while writing",
      "examples:\n"
      "  fwl generate --model smollm2.gguf --prompt \"Once upon a time\" -n 64\n"
      "  fwl generate --model smollm2.gguf --adapter runs/books/model --session book.session --file chapter1.txt\n"
      "  fwl generate --model runs/enwik8/best --prompt - --temperature 0 --stats < text",
      describe, run);
}

}  // namespace fwl
