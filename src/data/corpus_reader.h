// Reads text files and folders as a stream of blocks, cut where encoding can restart and where documents begin.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct CorpusOptions {
  std::vector<std::string> inputs;  // files and folders; folders recursively, in the order of their paths
  std::string extension;            // ".txt": only such files in folders; empty: every file that is not hidden
  // What a document is: "file", "line", "article" (WikiText: a heading " = Title = " between blank lines starts one),
  // or a separator: a line that equals it separates documents and belongs to none.
  std::string documents = "file";
  size_t block_bytes = 4 << 20;
  size_t largest_block_bytes = 1 << 30;  // a block without a place to cut grows up to this size
};

// A document, or part of one.
struct TextPiece {
  size_t begin = 0, end = 0;  // in the block's text
  bool starts_document = false;
  char before = '\n';  // the byte before this piece in its document; a newline where the document starts
  std::string name;    // of the document that starts here
};

struct TextBlock {
  std::string text;
  std::vector<TextPiece> pieces;
  uint64_t source_end = 0;  // bytes of the corpus up to the end of this block
  std::string_view text_of(const TextPiece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

// The files behind inputs, sorted inside each folder.
std::vector<std::string> list_corpus_files(const CorpusOptions& options);

class CorpusReader {
 public:
  using SafeCut = std::function<size_t(std::string_view)>;  // see Tokenizer::safe_cut

  CorpusReader(CorpusOptions options, SafeCut safe_cut);
  ~CorpusReader();
  CorpusReader(const CorpusReader&) = delete;
  CorpusReader& operator=(const CorpusReader&) = delete;

  bool next(TextBlock& block);  // false at the end of the corpus
  uint64_t total_bytes() const { return total_bytes_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  bool open_next_file();
  bool read_more(std::string& text, size_t count);
  void split_documents(TextBlock& block, bool is_end);
  bool scan_line(TextBlock& block, bool is_end);
  void start_article(TextBlock& block, size_t line_start, std::string_view title);
  bool emit_safe_prefix(TextBlock& block);
  void emit(TextBlock& block, size_t end);
  void end_document();

  CorpusOptions options_;
  SafeCut safe_cut_;
  std::vector<std::string> files_;
  uint64_t total_bytes_ = 0, read_bytes_ = 0;
  size_t next_file_ = 0;
  int file_ = -1;
  std::string carry_;                 // text that has been read but not emitted
  size_t emitted_ = 0, scanned_ = 0;  // in the current block: emitted; searched for document starts
  bool is_inside_document_ = false, is_last_line_blank_ = true;
  char before_ = '\n';
  std::string name_;
};

}  // namespace fwl
