#include "cli/evaluation_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "data/tokenize.h"
#include "evaluate/statistics_file.h"
#include "files/fetch.h"
#include "support/error.h"
#include "support/sha256.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr int64_t unlimited_window = 2048;  // of a model without a limit, where a protocol needs windows
constexpr int64_t usual_segment = 512;      // shorter than a window, so that running estimates come often

WeightFormat weight_format(const std::string& name, const std::vector<std::string>& methods) {
  const auto format = weight_format_from_name(name);
  const auto is_dynamic = [](const std::string& method) { return method.starts_with("dynamic-"); };
  if (!std::ranges::any_of(methods, is_dynamic)) return format;
  if (format == WeightFormat::quantized)
    fail("--weights", "fp32 for dynamic evaluation, which updates the weights", "quantized");
  return WeightFormat::fp32;
}

}  // namespace

void add_fields(Fields& fields, EvaluationInput& input) {
  add_fields(fields, static_cast<ModelInput&>(input));
  fields.add("text", input.text, "text files and folders to score (or --tokens)").short_name("f").reads_texts();
  fields.add("tokens", input.tokens, "token file to score").reads_file();
  fields.add("documents", input.documents, "document boundaries, as for fwl tokenize");
  fields.add("special", input.special, "as for fwl tokenize: control tokens that the text spells act as such");
  fields
      .add("protocol", input.protocol,
           "stream: one continuous text; windows: independent; sliding: overlapping, by --stride; llama: score second "
           "halves")
      .choices({"stream", "windows", "sliding", "llama"});
  fields.add("reset", input.reset, "when to reset the fast weights and the base's state")
      .choices({"never", "document"});
  fields.add("context", input.context, "window length in tokens; 0: the model's own context")
      .range(0, 1 << 24)
      .short_name("c")
      .alias("ctx_size");
  fields
      .add("weights", input.weights,
           "weights of published models: quantised as in the file, dequantised, or auto: fp32 up to 640 MB and for "
           "dynamic evaluation")
      .choices({"auto", "quantized", "fp32"});
  fields.add("stride", input.stride, "sliding: tokens scored in each window; 0: half the window").range(0, 1 << 24);
  fields
      .add("segment", input.segment,
           "stream, windows: tokens read at a time; 0: 512, or one window of a model without a limit")
      .range(0, 1 << 24);
  fields.add("max_tokens", input.max_tokens, "score at most this many tokens from the start of the text; 0: all")
      .range(0, 1e15);
  fields.add("dynamic.eta", input.dynamic.eta, "dynamic evaluation: learning rate").range(0, 1e6);
  fields.add("dynamic.lambda", input.dynamic.lambda, "dynamic-rms: decay towards the trained weights").range(0, 1);
  fields.add("dynamic.epsilon", input.dynamic.epsilon, "dynamic-rms: constant added to the root mean square")
      .range(0, 1);
  fields.add("dynamic.reset", input.dynamic.reset, "dynamic evaluation: reset the weights at every window or document");
  fields.add("dynamic.segment", input.dynamic_segment, "dynamic evaluation: tokens between two updates")
      .range(1, 1 << 24);
  fields.add("train_tokens", input.train_tokens, "dynamic-rms: training data for the gradient statistics").reads_file();
  fields.add("train_segments", input.train_segments, "dynamic-rms: number of segments of that data to use")
      .range(1, 1 << 30);
}

EvaluationData::EvaluationData(const EvaluationInput& input, const std::vector<std::string>& methods, Console& console)
    : input_(input) {
  if (input.text.empty() == input.tokens.empty())
    throw UsageError(error_line("text", "--text or --tokens", input.text.empty() ? "neither" : "both"));
  opened_ = open_with_vocabulary(input, weight_format(input.weights, methods), console);
  tokens_ = input.tokens.empty() ? tokenize(console) : std::make_unique<TokenFile>(input.tokens);
  const auto& path = tokens_->path();
  if (tokens_->tokenizer_hash() != model().tokenizer()->hash())
    fail(path, fmt::format("tokens of {}", input.model), fmt::format("tokens of '{}'", tokens_->tokenizer_name()),
         "tokenized with another vocabulary");
  if (tokens_->size() < 2) fail(path, "at least two tokens", std::to_string(tokens_->size()));
}

std::unique_ptr<TokenFile> EvaluationData::tokenize(Console& console) const {
  TokenizeOptions options;
  options.corpus.inputs = input_.text;
  options.corpus.documents = input_.documents;
  options.special = input_.special;
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  return std::make_unique<TokenFile>(tokenize_corpus(*model().tokenizer(), options, console.progress("tokenize")).file);
}

ProtocolOptions EvaluationData::protocol_options(bool is_dynamic) const {
  ProtocolOptions options;
  options.protocol = protocol_from_name(input_.protocol);
  const int64_t own = model().base().context_tokens();
  options.is_base_bounded = own > 0;
  options.context_tokens = own > 0 ? own : unlimited_window;
  if (input_.context > 0) options.context_tokens = input_.context;
  if (own > 0 && options.context_tokens > own)
    fail("--context", fmt::format("at most the model's {} tokens", own), std::to_string(options.context_tokens));
  options.segment_tokens = is_dynamic ? input_.dynamic_segment : input_.segment;
  if (options.segment_tokens == 0 && options.is_base_bounded) options.segment_tokens = usual_segment;
  options.stride_tokens = input_.stride;
  options.resets_at_documents = input_.reset == "document";
  return options;
}

int64_t EvaluationData::context_tokens() const {
  const auto options = protocol_options(false);
  return options.protocol == Protocol::stream && !options.is_base_bounded ? 0 : options.context_tokens;
}

std::string EvaluationData::context_text() const {
  const int64_t tokens = context_tokens();
  if (tokens == 0) return "no limit";
  const bool is_own = tokens == model().base().context_tokens();
  return fmt::format("{} tokens{}", tokens, is_own ? ", the model's own" : "");
}

std::vector<Piece> EvaluationData::pieces(const MethodOptions& method) const {
  auto all = cut_into_pieces(*tokens_, protocol_options(method.is_dynamic()));
  if (input_.max_tokens == 0) return all;
  std::erase_if(all, [&](const Piece& piece) { return piece.first_scored >= input_.max_tokens; });
  for (auto& piece : all) piece.count = std::min(piece.count, input_.max_tokens - 1 - piece.first);
  if (all.empty()) fail("--max-tokens", "at least 2", std::to_string(input_.max_tokens));
  return all;
}

void EvaluationData::warn_of_length(const std::vector<Piece>& pieces, Console& console) const {
  int64_t longest = 0, carried = 0;
  for (const auto& piece : pieces) {
    carried = (piece.resets_fast ? 0 : carried) + piece.scored();
    longest = std::max(longest, carried);
  }
  const int64_t safe = opened_.safe_tokens;
  if (safe > 0 && longest > safe)
    console.note(
        fmt::format("warning: the fast weights were trained on texts of {0} tokens and have no decay; over {1} they "
                    "may diverge (--protocol windows --context {0}, or train with layer.decay)",
                    safe, longest));
}

const std::vector<at::Tensor>& EvaluationData::statistics(const MethodOptions& method, Console& console) {
  if (!method.dynamic.is_rms || !statistics_.empty()) return statistics_;
  if (input_.train_tokens.empty())
    fail("method dynamic-rms", "--train-tokens, a token file of training data", "nothing");
  const TokenFile train(input_.train_tokens);
  if (train.tokenizer_hash() != model().tokenizer()->hash())
    fail(input_.train_tokens, fmt::format("tokens of {}", input_.model),
         fmt::format("tokens of '{}'", train.tokenizer_name()), "tokenized with another vocabulary");
  const auto key = fmt::format("model {} data {} {} x {} tokens, {} {}", opened_.identity, to_hex(train.ids_hash()),
                               input_.train_segments, input_.dynamic_segment, input_.protocol,
                               protocol_options(true).context_tokens);
  const auto path = fs::path(default_data_folder()) / "statistics" / (to_hex(sha256(key)) + ".safetensors");
  statistics_ = kept_statistics(path.string(), key, model(), [&] {
    const auto all = cut_into_pieces(train, protocol_options(true));
    return gradient_statistics(model(), train, all, input_.train_segments, console.progress("statistics"));
  });
  return statistics_;
}

void check_method(const std::string& name) {
  if (std::ranges::find(method_names(), name) == method_names().end())
    throw UsageError(error_line("--method", fmt::format("one of {}", fmt::join(method_names(), ", ")), name));
}

}  // namespace fwl
