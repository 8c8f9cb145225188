// `fwl perplexity`: how well a model predicts a text, by several methods on the same tokens.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/cached_model.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "evaluate/evaluation.h"
#include "store/open_model.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "text/tokenize.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr int64_t usual_context = 2048;
constexpr int64_t running_estimates = 64;

struct Options {
  std::string model, adapter;
  std::vector<std::string> text;
  std::string tokens, documents = "file";
  std::vector<std::string> methods = {"static"};
  std::string protocol = "stream", reset = "never";
  int64_t context = 0, stride = 0, segment = 0, dynamic_segment = 128, max_tokens = 0;
  double step = 0;
  DynamicOptions dynamic;
  std::string train_tokens;
  int64_t train_segments = 100;
  std::string save_nll;
  EngineFlags engine;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  fields.add("model", options.model, "a model trained here, a GGUF file or a Hugging Face folder").required();
  fields.add("adapter", options.adapter, "a fast weight layer for it (fwl attach)");
  fields.add("text", options.text, "text files and folders to score");
  fields.add("tokens", options.tokens, "or a token file");
  fields.add("documents", options.documents, "what a document is, as for fwl tokenize");
  fields.add("method", options.methods,
             "one or several of static, fwl, test-time, bias-only, dynamic-sgd, dynamic-rms");
  fields
      .add("protocol", options.protocol,
           "stream: read on and on; windows: independent ones; sliding: by --stride; llama: second halves of windows")
      .choices({"stream", "windows", "sliding", "llama"});
  fields.add("reset", options.reset, "when the fast weights (and the memory) start anew")
      .choices({"never", "document"});
  fields.add("context", options.context, "tokens of a window; 0: as the adapter or the model has it").range(0, 1 << 24);
  fields.add("stride", options.stride, "sliding: tokens that are scored in each window; 0: half of it")
      .range(0, 1 << 24);
  fields.add("segment", options.segment, "stream: tokens read at a time; 0: a window").range(0, 1 << 24);
  fields.add("max_tokens", options.max_tokens, "score only the first so many tokens of the text; 0: all")
      .range(0, 1e15);
  fields.add("step", options.step, "test-time, bias-only: the step size").range(0, 1e6);
  fields.add("dynamic.eta", options.dynamic.eta, "dynamic evaluation: rate").range(0, 1e6);
  fields.add("dynamic.lambda", options.dynamic.lambda, "dynamic-rms: pull back to the start").range(0, 1);
  fields.add("dynamic.epsilon", options.dynamic.epsilon, "dynamic-rms: added to the root mean square").range(0, 1);
  fields.add("dynamic.segment", options.dynamic_segment, "tokens between two updates").range(1, 1 << 24);
  fields.add("train_tokens", options.train_tokens, "dynamic-rms: training data for the gradient statistics");
  fields.add("train_segments", options.train_segments, "how much of it").range(1, 1 << 30);
  fields.add("save_nll", options.save_nll, "write the loss of every token to this file");
  fields.add("json", options.json, "print the result as JSON");
  add_fields(fields, options.engine);
}

// A token file that was only made for this run goes with it.
struct TemporaryTokens {
  std::string path;
  ~TemporaryTokens() {
    std::error_code ignored;
    if (!path.empty()) fs::remove(path, ignored);
  }
};

std::unique_ptr<TokenFile> open_text(const Options& options, const LanguageModel& model, TemporaryTokens& temporary,
                                     Console& console) {
  if (options.text.empty() == options.tokens.empty())
    throw UsageError(error_line("fwl perplexity", "--text or --tokens", options.text.empty() ? "neither" : "both"));
  if (!model.tokenizer()) fail(options.model, "a model with its vocabulary", "none beside the weights");
  auto path = options.tokens;
  if (path.empty()) {
    temporary.path = (fs::temp_directory_path() / fmt::format("fwl-{}.tokens", getpid())).string();
    TokenizeOptions tokenize;
    tokenize.corpus.inputs = options.text;
    tokenize.corpus.documents = options.documents;
    tokenize.out = path = temporary.path;
    tokenize.threads = std::max(1U, std::thread::hardware_concurrency());
    tokenize_corpus(*model.tokenizer(), tokenize, console.progress("tokenize"));
  }
  auto tokens = std::make_unique<TokenFile>(path);
  if (tokens->tokenizer_hash() != model.tokenizer()->hash())
    fail(path, fmt::format("tokens of {}", options.model), fmt::format("tokens of '{}'", tokens->tokenizer_name()),
         "tokenized with another vocabulary");
  if (tokens->size() < 2) fail(path, "at least two tokens", std::to_string(tokens->size()));
  return tokens;
}

ProtocolOptions protocol_options(const Options& options, const OpenedModel& opened, bool is_dynamic) {
  ProtocolOptions protocol;
  protocol.protocol = protocol_from_name(options.protocol);
  const auto* cached = dynamic_cast<const CachedModel*>(&opened.model->base());
  const int64_t own = cached ? cached->context().context_tokens : 0;
  protocol.is_base_bounded = own > 0;
  protocol.context_tokens = options.context > 0        ? options.context
                            : opened.window_tokens > 0 ? opened.window_tokens
                            : own > 0                  ? std::min(own, usual_context)
                                                       : usual_context;
  if (own > 0 && protocol.context_tokens > own)
    fail("--context", fmt::format("at most the model's {} tokens", own), std::to_string(protocol.context_tokens));
  protocol.segment_tokens = is_dynamic ? options.dynamic_segment : options.segment;
  protocol.stride_tokens = options.stride;
  protocol.resets_at_documents = options.reset == "document";
  return protocol;
}

std::vector<Piece> pieces_of(const Options& options, const OpenedModel& opened, const TokenView& tokens,
                             bool is_dynamic) {
  auto pieces = cut_into_pieces(tokens, protocol_options(options, opened, is_dynamic));
  if (options.max_tokens == 0) return pieces;
  std::erase_if(pieces, [&](const Piece& piece) { return piece.first_scored >= options.max_tokens; });
  for (auto& piece : pieces) piece.count = std::min(piece.count, options.max_tokens - 1 - piece.first);
  if (pieces.empty() || pieces.front().scored() < 1)
    fail("--max-tokens", "at least 2", std::to_string(options.max_tokens));
  return pieces;
}

// "[1]6.2535,[2]7.0812,…" as llama-perplexity prints it, at most so many of them.
ProgressReport running_estimate(Console& console, const std::string& method, bool is_shown) {
  auto bar = console.progress(method);
  return [&console, bar, is_shown](const ProgressEvent& event) {
    bar(event);
    const int64_t every = std::max<int64_t>(1, event.total / running_estimates);
    if (!is_shown || (event.done % every != 0 && event.done != event.total)) return;
    console.out() << fmt::format("[{}]{}{}", event.done, event.note, event.done == event.total ? "\n" : ",")
                  << std::flush;
  };
}

nlohmann::json to_json(const NllSeries& series, const Summary& summary) {
  return {{"method", series.method},
          {"tokens", summary.tokens},
          {"nll", summary.mean},
          {"nll_error", summary.standard_error},
          {"perplexity", summary.perplexity},
          {"perplexity_error", summary.perplexity_error},
          {"word_perplexity", summary.word_perplexity},
          {"bits_per_byte", summary.bits_per_byte},
          {"documents", summary.documents},
          {"macro_perplexity", summary.macro_perplexity},
          {"seconds", series.seconds},
          {"tokens_per_second", static_cast<double>(summary.tokens) / series.seconds},
          {"peak_bytes", series.peak_bytes}};
}

nlohmann::json to_json(const PairedDifference& difference, const std::string& against) {
  return {{"against", against},
          {"nll", difference.mean},
          {"low", difference.low},
          {"high", difference.high},
          {"perplexity_ratio", difference.perplexity_ratio}};
}

void print_table(Console& console, const std::vector<NllSeries>& all, const TokenView& tokens) {
  auto& out = console.out();
  out << fmt::format("{:<12} {:>9} {:>9} {:>18} {:>10} {:>9} {:>9} {:>8} {:>9} {:>9} {:>20}\n", "method", "tokens",
                     "nll", "perplexity", "per word", "bits/byte", "macro", "tok/s", "x time", "memory",
                     "difference in nll");
  for (const auto& series : all) {
    const auto summary = summarize(series, tokens);
    std::string difference = "";
    if (&series != &all.front()) {
      const auto paired = compare(all.front(), series);
      difference = fmt::format("{:+.4f} ±{:.4f}", paired.mean, paired.high - paired.mean);
    }
    out << fmt::format(
        "{:<12} {:>9} {:>9.4f} {:>10.4f} ±{:<6.3f} {:>10.3f} {:>9.4f} {:>9.3f} {:>8.0f} {:>9.2f} {:>9} "
        "{:>20}\n",
        series.method, summary.tokens, summary.mean, summary.perplexity, summary.perplexity_error,
        summary.word_perplexity, summary.bits_per_byte, summary.macro_perplexity,
        static_cast<double>(summary.tokens) / series.seconds, series.seconds / all.front().seconds,
        format_amount(series.peak_bytes, "bytes"), difference);
  }
  const auto summary = summarize(all.back(), tokens);
  out << fmt::format("Final estimate: PPL = {:.4f} +/- {:.5f}\n", summary.perplexity, summary.perplexity_error);
}

std::vector<at::Tensor> statistics_for(const Options& options, const OpenedModel& opened, Console& console) {
  if (std::ranges::find(options.methods, "dynamic-rms") == options.methods.end()) return {};
  if (options.train_tokens.empty())
    fail("method dynamic-rms", "--train-tokens, a token file of training data", "nothing");
  const TokenFile train(options.train_tokens);
  if (opened.model->tokenizer() && train.tokenizer_hash() != opened.model->tokenizer()->hash())
    fail(options.train_tokens, fmt::format("tokens of {}", options.model), "others", "another vocabulary");
  const auto pieces = cut_into_pieces(train, protocol_options(options, opened, true));
  return gradient_statistics(*opened.model, train, pieces, options.train_segments, console.progress("statistics"));
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto device = apply(options.engine);
  if (!device.is_cpu()) fail("--device", "cpu", options.engine.device, "models are opened on the CPU");
  for (const auto& method : options.methods)
    if (std::ranges::find(method_names(), method) == method_names().end())
      throw UsageError(error_line("--method", fmt::format("one of {}", fmt::join(method_names(), ", ")), method));
  const auto opened = open_model(options.model, options.adapter, WeightFormat::fp32, console.progress("open"));
  TemporaryTokens temporary;
  const auto tokens = open_text(options, *opened.model, temporary, console);
  const auto statistics = statistics_for(options, opened, console);
  std::vector<NllSeries> all;
  for (const auto& name : options.methods) {
    MethodOptions method{name, options.step, options.dynamic};
    method.dynamic.is_rms = name == "dynamic-rms";
    if (!options.json) console.out() << name << '\n';
    const auto pieces = pieces_of(options, opened, *tokens, method.is_dynamic());
    all.push_back(
        evaluate(*opened.model, *tokens, pieces, method, statistics, running_estimate(console, name, !options.json)));
  }
  if (!options.save_nll.empty())
    save_nll(options.save_nll, all, *tokens, {opened.identity, to_hex(tokens->ids_hash())});
  if (!options.json) {
    print_table(console, all, *tokens);
    return 0;
  }
  nlohmann::json json = {{"model", options.model}, {"data_hash", to_hex(tokens->ids_hash())}};
  for (const auto& series : all) {
    json["methods"].push_back(to_json(series, summarize(series, *tokens)));
    if (&series != &all.front())
      json["methods"].back()["difference"] = to_json(compare(all.front(), series), all.front().method);
  }
  console.out() << json.dump() << '\n';
  return 0;
}

}  // namespace

Command perplexity_command() {
  return make_command<Options>(
      "perplexity", "how well a model predicts a text, by one method or several",
      "examples:\n"
      "  fwl perplexity --model runs/enwik8/best --tokens data/enwik8/test.tokens --method static fwl\n"
      "  fwl perplexity --model smollm2.gguf --adapter runs/books/model --text book.txt --method static fwl\n"
      "  fwl perplexity --model smollm2.gguf --text wiki.test.raw --protocol llama --context 512",
      describe, run);
}

}  // namespace fwl
