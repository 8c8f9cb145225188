// `fwl generate`: continues a prompt, from which the fast weights learn.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/session_input.h"
#include "files/memory_map.h"
#include "generate/repetition.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/measure.h"
#include "template/chat_template.h"

namespace fwl {
namespace {

struct Options {
  SessionInput input;
  GenerationOptions generation;
  std::string prompt, file;
  int64_t samples = 1, seed = 0;
  bool chat = false, special = false, show_prompt = false, stats = false, json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields.add("prompt", options.prompt, "text to continue; - reads it from standard input").short_name("p");
  fields.add("file", options.file, "file that holds the prompt").short_name("f").reads_file();
  fields.add("chat", options.chat, "treat the prompt as a user message: apply the model's chat template");
  add_special_field(fields, options.special);
  add_fields(fields, options.generation);
  fields.add("seed", options.seed, "random seed; a session that is continued keeps its own")
      .range(0, 1e15)
      .short_name("s");
  fields.add("ignore_end", options.generation.ignore_end, "continue past the model's end token").alias("ignore_eos");
  fields.add("samples", options.samples, "number of continuations, with consecutive seeds; a session keeps the last")
      .range(1, 1e9);
  fields.add("show_prompt", options.show_prompt, "print the prompt before its continuation");
  fields.add("stats", options.stats, "print tokens, speed and memory at the end");
  fields.add("json", options.json, "print the result as JSON lines, one per continuation");
}

std::string prompt_text(const Options& options) {
  if (!options.prompt.empty() && !options.file.empty())
    throw UsageError(error_line("prompt", "--prompt or --file", "both"));
  if (!options.file.empty()) return std::string(MemoryMap(options.file).text());
  if (options.prompt == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  return options.prompt;
}

const char* name_of(StopReason reason) {
  if (reason == StopReason::end_token) return "end_token";
  return reason == StopReason::stop_text ? "stop" : "length";
}

double per_second(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

nlohmann::json to_json(const Options& options, const Generation& generation, const ReadingLoss& prompt,
                       const OpenedSession& opened) {
  const auto repeats = repetition(generation.tokens);
  return {{"model", options.input.model},
          {"adapt", options.input.adapt},
          {"text", generation.text},
          {"tokens", generation.tokens},
          {"finish_reason", name_of(generation.stop_reason)},
          {"seed", opened.session().sampler.seed},
          {"context", opened.context_tokens()},
          {"distinct", repeats.distinct},
          {"repeated_4_grams", repeats.repeated_4_grams()},
          {"prompt_tokens", prompt.read_tokens},
          {"prompt_nll", prompt.tokens > 0 ? prompt.sum / static_cast<double>(prompt.tokens) : 0.0},
          {"prompt_per_second", per_second(static_cast<double>(prompt.read_tokens), prompt.seconds)},
          {"tokens_per_second", per_second(static_cast<double>(generation.tokens.size()), generation.seconds)}};
}

void print_stats(Console& console, const ReadingLoss& prompt, const Generation& generation,
                 const OpenedSession& opened) {
  const auto perplexity =
      prompt.tokens > 0 ? fmt::format(", perplexity {:.2f}", std::exp(prompt.sum / static_cast<double>(prompt.tokens)))
                        : std::string();
  if (prompt.read_tokens > 0)
    console.note(fmt::format("prompt: {} tokens{}, {:.1f} tok/s", prompt.read_tokens, perplexity,
                             per_second(static_cast<double>(prompt.read_tokens), prompt.seconds)));
  const auto repeats = repetition(generation.tokens);
  console.note(fmt::format("distinct 1- to 4-grams: {:.3f} {:.3f} {:.3f} {:.3f}", repeats.distinct[0],
                           repeats.distinct[1], repeats.distinct[2], repeats.distinct[3]));
  console.note(fmt::format("generated: {} tokens ({}), {:.1f} tok/s; session: {} tokens read, {}, {}; peak memory {}",
                           generation.tokens.size(), name_of(generation.stop_reason),
                           per_second(static_cast<double>(generation.tokens.size()), generation.seconds),
                           opened.session().tokens_read(), opened.context_text(),
                           format_amount(static_cast<double>(opened.session().bytes()), "bytes"),
                           format_amount(peak_memory_bytes(), "bytes")));
}

// Says so if an instruction model gets plain text: it continues that badly.
std::vector<TokenId> prompt_tokens(const OpenedSession& opened, const Options& options, const std::string& prompt,
                                   Console& console) {
  const auto& known = opened.conventions();
  if (options.chat) {
    if (known.chat_template.empty())
      fail("--chat", "a model with a chat template", options.input.model + ", which has none");
    const ChatTemplate chat(options.input.model + ": chat template", known.chat_template, known.begin_text,
                            known.end_text);
    return opened.tokenizer().encode(chat.render({{"user", prompt}}, true));
  }
  const bool is_formatted = !known.end_text.empty() && prompt.find(known.end_text) != std::string::npos;
  if (is_formatted && !options.special)
    console.note("note: the prompt spells control tokens, which are read as text; --special lets them act");
  else if (!known.chat_template.empty() && !prompt.empty() && !is_formatted)
    console.note("note: an instruction model, but the prompt is continued as plain text; --chat applies its template");
  return opened.encode_prompt(marked_text(prompt, options.special));
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto prompt = prompt_text(options);
  OpenedSession opened(options.input, console);
  options.generation.adaptation = opened.generating();
  const bool is_new = opened.session().tokens_read() == 0;
  const auto loss = opened.generator().read(prompt_tokens(opened, options, prompt, console), opened.reading(),
                                            console.progress("read"));
  warn_of_rollbacks(loss.rollbacks, console);
  if (is_new) opened.session().sampler.seed = options.seed;
  const auto start = options.samples > 1 ? opened.session().clone() : Session();
  auto& out = console.text_out();
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    if (sample > 0) {
      opened.session() = start.clone();
      opened.session().sampler.seed += sample;
    }
    if (!options.json && options.show_prompt) out << prompt << std::flush;
    Generation generation;
    try {
      generation = opened.generator().generate(options.generation, [&](std::string_view text) {
        if (!options.json) out << text << std::flush;
      });
    } catch (const Interrupted&) {  // the session has read what was generated: keep it
      if (!options.json) out << '\n';
      opened.save();
      throw;
    }
    warn_of_rollbacks(generation.has_diverged, console);
    if (options.json)
      console.out()
          << to_json(options, generation, loss, opened).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
          << std::endl;
    else
      out << '\n' << std::flush;
    if (options.stats) print_stats(console, loss, generation, opened);
  }
  opened.save();
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<Options>(
      "generate", "continue a prompt, learning from it",
      "examples:\n"
      "  fwl generate --model smollm2.gguf --prompt \"Once upon a time\" -n 64\n"
      "  fwl generate --model smollm2.gguf --adapter runs/books/model --session book.session --file chapter1.txt\n"
      "  fwl generate --model runs/enwik8/best --prompt - --temperature 0 --stats < text",
      describe, run);
}

}  // namespace fwl
