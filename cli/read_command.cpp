// `fwl read`: a session reads documents, learns from them, and reports how well it predicted them.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/session_input.h"
#include "data/corpus_reader.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/sha256.h"

namespace fwl {
namespace {

struct Options {
  SessionInput input;
  std::vector<std::string> texts;
  int64_t save_every = 20000;
  bool special = false, again = false, json = false;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields.add("texts", options.texts, "text files and folders, in reading order").positional().required().reads_texts();
  fields.add("save_every", options.save_every, "save the session after this many tokens").range(1, 1e12);
  add_special_field(fields, options.special);
  fields.add("again", options.again, "read documents that the session has read before once more");
  fields.add("json", options.json, "print the result as JSON");
}

struct FileLoss {
  std::string path;
  ReadingLoss loss;
};

double mean_loss(const ReadingLoss& loss) {  // NaN without tokens; null in JSON
  return loss.sum / static_cast<double>(loss.tokens);
}

double perplexity(const ReadingLoss& loss) {
  return std::exp(mean_loss(loss));
}

double speed(const ReadingLoss& loss) {
  return loss.seconds > 0 ? static_cast<double>(loss.tokens) / loss.seconds : 0;
}

void add(ReadingLoss& total, const ReadingLoss& part) {
  total.sum += part.sum;
  total.tokens += part.tokens;
  total.seconds += part.seconds;
  total.rollbacks += part.rollbacks;
}

// Reads what the session has not yet read of a document. What was read is saved every now and then, and when a signal
// ends the program, so that the same command goes on where it stopped.
class DocumentReading {
 public:
  DocumentReading(OpenedSession& opened, const std::string& path, const Options& options, Console& console)
      : opened_(opened), options_(options), console_(console), path_(path) {}

  ReadingLoss run() {
    const MemoryMap file(path_);
    const bool was_fresh = opened_.session().tokens_read() == 0;
    const auto ids = opened_.encode(marked_text(std::string(file.text()), options_.special));
    const std::span<const TokenId> all(ids);
    const int64_t begin = was_fresh && opened_.adds_begin() && !ids.empty() ? 1 : 0;  // not of the text
    const int64_t total = static_cast<int64_t>(all.size()) - begin;
    auto& read = opened_.documents()[to_hex(sha256(file.text()))];
    if (options_.again || read > total) read = 0;
    if (read > 0)
      console_.note(read == total ? path_ + ": read before (--again reads it once more)"
                                  : fmt::format("{}: going on after {} of {} tokens", path_, read, total));
    const auto bar = console_.progress(std::filesystem::path(path_).filename().string());
    ReadingLoss loss;
    while (read < total) {
      const auto start = read > 0 ? read + begin : 0;
      const auto part = all.subspan(static_cast<size_t>(start), std::min(static_cast<size_t>(options_.save_every),
                                                                         all.size() - static_cast<size_t>(start)));
      try {
        add(loss, opened_.generator().read(part, opened_.reading(), [&](ProgressEvent event) {
          event.done += start;
          event.total = static_cast<int64_t>(all.size());
          read = event.done - begin;
          bar(event);
        }));
      } catch (const Interrupted&) {
        opened_.save();
        throw;
      }
      opened_.save();
    }
    warn_of_rollbacks(loss.rollbacks, console_);
    return loss;
  }

 private:
  OpenedSession& opened_;
  const Options& options_;
  Console& console_;
  std::string path_;
};

nlohmann::json to_json(const FileLoss& file) {
  return {{"file", file.path},
          {"tokens", file.loss.tokens},
          {"nll", mean_loss(file.loss)},
          {"perplexity", perplexity(file.loss)},
          {"seconds", file.loss.seconds}};
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  if (options.input.session.empty())
    throw UsageError("fwl read: --session FILE is required: it keeps what was read (see fwl read --help)");
  CorpusOptions corpus;
  corpus.inputs = options.texts;
  const auto files = list_corpus_files(corpus);
  OpenedSession opened(options.input, console);
  console.note("reading with a " + opened.context_text());
  std::vector<FileLoss> losses;
  FileLoss total{"all", {}};
  for (const auto& path : files) {
    losses.push_back({path, DocumentReading(opened, path, options, console).run()});
    add(total.loss, losses.back().loss);
    if (!options.json)
      console.out() << fmt::format("{:<40} {:>9} tokens  perplexity {:>10.3f}  {:>8.0f} tok/s\n", path,
                                   losses.back().loss.tokens, perplexity(losses.back().loss), speed(losses.back().loss))
                    << std::flush;
  }
  opened.save();  // even if all texts are empty
  if (options.json) {
    nlohmann::json json = {{"total", to_json(total)},
                           {"tokens_read", opened.session().tokens_read()},
                           {"context", opened.context_tokens()}};
    for (const auto& file : losses) json["files"].push_back(to_json(file));
    console.out() << json.dump() << '\n';
  } else if (losses.size() > 1) {
    console.out() << fmt::format("{:<40} {:>9} tokens  perplexity {:>10.3f}\n", "all", total.loss.tokens,
                                 perplexity(total.loss));
  }
  return 0;
}

}  // namespace

Command read_command() {
  return make_command<Options>(
      "read", "let a session read documents, so that it remembers them",
      "examples:\n"
      "  fwl read --model smollm2.gguf --adapter runs/books/model --session book.session book.txt\n"
      "  fwl generate --model smollm2.gguf --adapter runs/books/model --session book.session",
      describe, run);
}

}  // namespace fwl
