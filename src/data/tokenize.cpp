#include "data/tokenize.h"

#include <algorithm>
#include <deque>
#include <future>

#include "data/token_file_writer.h"
#include "files/output_check.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

struct EncodedPiece {
  size_t ids_end = 0;
  uint64_t bytes = 0, words = 0, lines = 0;
  bool starts_document = false;
  std::string name;
};

struct EncodedBlock {
  std::vector<TokenId> ids;
  std::vector<EncodedPiece> pieces;
  uint64_t source_end = 0;
};

bool is_whitespace(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

// Counts words and lines where they begin, so that pieces can be counted independently.
void count_starts(std::string_view text, char before, EncodedPiece& piece) {
  bool was_whitespace = is_whitespace(before), was_newline = before == '\n';
  for (const char byte : text) {
    const bool whitespace = is_whitespace(byte);
    piece.words += was_whitespace && !whitespace;
    piece.lines += was_newline;
    was_whitespace = whitespace;
    was_newline = byte == '\n';
  }
}

void encode_piece(const Tokenizer& tokenizer, std::string_view text, bool special, std::vector<TokenId>& ids) {
  const TextRange whole{0, text.size()};
  const auto markup = special && !text.empty() ? Markup(&whole, 1) : Markup();
  if (!tokenizer.is_by_line()) return tokenizer.encode_marked(text, markup, ids);
  while (!text.empty()) {
    const auto length = std::min(text.find('\n'), text.size() - 1) + 1;
    tokenizer.encode_marked(text.substr(0, length), markup, ids);
    text.remove_prefix(length);
  }
}

EncodedBlock encode_block(const Tokenizer& tokenizer, const TextBlock& block, bool special) {
  EncodedBlock encoded;
  encoded.source_end = block.source_end;
  encoded.ids.reserve(block.text.size() / 3);
  for (const auto& piece : block.pieces) {
    const auto text = block.text_of(piece);
    encode_piece(tokenizer, text, special, encoded.ids);
    EncodedPiece result{encoded.ids.size(), text.size(), 0, 0, piece.starts_document, piece.name};
    count_starts(text, piece.before, result);
    encoded.pieces.push_back(std::move(result));
  }
  return encoded;
}

class Tokenization {
 public:
  Tokenization(const Tokenizer& tokenizer, const TokenizeOptions& options, const ProgressReport& progress)
      : tokenizer_(tokenizer),
        options_(options),
        progress_(progress),
        reader_(options.corpus, [&](std::string_view text) { return tokenizer.safe_cut(text); }),
        writer_(options.out, tokenizer, options.tokenizer_name) {}

  TokenizeResult run() {
    options_.threads > 1 ? run_threads() : run_here();
    if (has_document_) end_document();
    if (writer_.token_count() == 0) fail(options_.corpus.inputs.front(), "some text", "none");
    writer_.commit();
    const auto count = [](uint64_t value) { return static_cast<int64_t>(value); };
    return {count(writer_.token_count()),
            count(writer_.document_count()),
            count(reader_.files().size()),
            count(bytes_),
            count(writer_.word_count()),
            count(writer_.line_count()),
            writer_.ids_hash(),
            writer_.map()};
  }

 private:
  void run_here() {
    for (TextBlock block; reader_.next(block);) write(encode_block(tokenizer_, block, options_.special));
  }

  // This thread reads and writes. Each block in flight is encoded by its own thread; blocks are written in order.
  void run_threads() {
    std::deque<std::future<EncodedBlock>> in_flight;
    for (TextBlock block; reader_.next(block); block = {}) {
      in_flight.push_back(std::async(std::launch::async, [this, mine = std::move(block)] {
        return encode_block(tokenizer_, mine, options_.special);
      }));
      if (in_flight.size() < static_cast<size_t>(options_.threads)) continue;
      write(in_flight.front().get());
      in_flight.pop_front();
    }
    for (auto& block : in_flight) write(block.get());
  }

  void write(const EncodedBlock& block) {
    throw_if_interrupted();
    size_t start = 0;
    for (const auto& piece : block.pieces) {
      if (piece.starts_document) {
        if (has_document_) end_document();
        writer_.start_document(piece.name);
        has_document_ = true;
      }
      writer_.append(std::span(block.ids).subspan(start, piece.ids_end - start), piece.bytes, piece.words, piece.lines);
      bytes_ += piece.bytes;
      start = piece.ids_end;
    }
    if (progress_)
      progress_({static_cast<int64_t>(block.source_end), static_cast<int64_t>(reader_.total_bytes()), "bytes", {}});
  }

  void end_document() {
    if (options_.append_end) writer_.append(std::vector{*tokenizer_.end_token()});
  }

  const Tokenizer& tokenizer_;
  const TokenizeOptions& options_;
  const ProgressReport& progress_;
  CorpusReader reader_;
  TokenFileWriter writer_;
  uint64_t bytes_ = 0;
  bool has_document_ = false;
};

}  // namespace

TokenizeResult tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options,
                               const ProgressReport& progress) {
  if (options.append_end && !tokenizer.end_token())
    fail("append_end", "a tokenizer with an end token", "a tokenizer of kind " + tokenizer.kind());
  if (!options.out.empty()) expect_apart(options.out, list_corpus_files(options.corpus));
  return Tokenization(tokenizer, options, progress).run();
}

}  // namespace fwl
