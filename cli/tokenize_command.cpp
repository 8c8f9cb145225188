// `fwl tokenize`: encodes text files as a token file.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/model_name.h"
#include "data/tokenize.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

struct Options {
  std::string tokenizer;
  TokenizeOptions tokenize;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  auto& tokenize = options.tokenize;
  fields.add("text", tokenize.corpus.inputs, "text files and folders, with their subfolders")
      .positional()
      .required()
      .reads_texts();
  fields.add("tokenizer", options.tokenizer, "bytes, or the path of a vocabulary, tokenizer or model")
      .required()
      .reads_file();
  fields.add("out", tokenize.out, "token file to write").required().writes_file();
  fields.add("documents", tokenize.corpus.documents,
             "document boundaries: file, line, article (WikiText headings), or the text of the line between documents");
  fields.add("extension", tokenize.corpus.extension, "in folders, read only files with this ending, e.g. .txt");
  fields.add("special", tokenize.special,
             "control tokens that the text spells, such as <|endoftext|>, act as such; by default they are text");
  fields.add("append_end", tokenize.append_end, "append the end token to every document");
  tokenize.threads = std::max(1U, std::thread::hardware_concurrency());
  fields.add("threads", tokenize.threads, "number of threads").range(1, 256).short_name("t");
  fields.add("json", options.json, "print the result as JSON");
}

nlohmann::json to_json(const Options& options, const TokenizeResult& result) {
  return {{"path", options.tokenize.out},
          {"tokens", result.tokens},
          {"documents", result.documents},
          {"files", result.files},
          {"bytes", result.bytes},
          {"words", result.words},
          {"lines", result.lines},
          {"data_hash", to_hex(result.ids_hash)},
          {"bytes_per_token", static_cast<double>(result.bytes) / static_cast<double>(result.tokens)}};
}

void print(Console& console, const Options& options, const TokenizeResult& result) {
  const auto tokens = static_cast<double>(result.tokens);
  console.out() << fmt::format("tokens     {:>15}   {:.3f} bytes per token, {:.3f} tokens per word\n", result.tokens,
                               static_cast<double>(result.bytes) / tokens,
                               tokens / static_cast<double>(std::max<int64_t>(1, result.words)))
                << fmt::format("documents  {:>15}   in {} file{}\n", result.documents, result.files,
                               result.files == 1 ? "" : "s")
                << fmt::format("bytes      {:>15}\nwords      {:>15}\nlines      {:>15}\n", result.bytes, result.words,
                               result.lines)
                << fmt::format("data hash  {}\n{}\n", to_hex(result.ids_hash), options.tokenize.out);
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  options.tokenizer = find_tokenizer(options.tokenizer, console);
  const auto tokenizer = open_tokenizer(options.tokenizer);
  options.tokenize.tokenizer_name = std::filesystem::path(options.tokenizer).filename().string();
  const auto result = tokenize_corpus(*tokenizer, options.tokenize, console.progress("tokenize"));
  if (options.json)
    console.out() << to_json(options, result).dump() << '\n';
  else
    print(console, options, result);
  return 0;
}

}  // namespace

Command tokenize_command() {
  return make_command<Options>("tokenize", "encode text files as a token file",
                               "examples:\n"
                               "  fwl tokenize --tokenizer bytes --out enwik8.tokens enwik8\n"
                               "  fwl tokenize --tokenizer smollm2.gguf --documents article --out wiki.tokens wiki.txt",
                               describe, run);
}

}  // namespace fwl
