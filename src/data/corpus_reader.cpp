#include "data/corpus_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "support/error.h"

namespace fwl {
namespace {

constexpr std::string_view ascii_whitespace = " \t\n\v\f\r";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(ascii_whitespace), last = text.find_last_not_of(ascii_whitespace);
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// The title in " = Title = ", or nothing; deeper headings (" = = Section = = ") start no article.
std::string_view article_title(std::string_view line) {
  if (!line.starts_with(" = ")) return {};
  const auto heading = trim(line);
  if (heading.size() < 5 || !heading.ends_with(" =")) return {};
  const auto title = trim(heading.substr(1, heading.size() - 2));
  return title.starts_with('=') || title.ends_with('=') ? std::string_view() : title;
}

std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view line_at(std::string_view text, size_t start) {
  const auto newline = text.find('\n', start);
  return text.substr(start, newline == std::string_view::npos ? newline : newline + 1 - start);
}

void list_folder(const std::string& folder, const std::string& extension, std::vector<std::string>& files) {
  namespace fs = std::filesystem;
  const auto first = files.size();
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator(); ++at) {
    const bool is_hidden = at->path().filename().string().starts_with('.');
    if (is_hidden && at->is_directory()) at.disable_recursion_pending();
    if (is_hidden || !at->is_regular_file()) continue;
    if (extension.empty() || at->path().extension() == extension) files.push_back(at->path().string());
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end());
}

}  // namespace

std::vector<std::string> list_corpus_files(const CorpusOptions& options) {
  std::vector<std::string> files;
  for (const auto& input : options.inputs) {
    std::error_code error;
    const auto status = std::filesystem::status(input, error);
    const bool is_unknown = status.type() == std::filesystem::file_type::none;  // e.g. permission denied
    if (is_unknown || !std::filesystem::exists(status))
      fail(input, "a text file or a folder", is_unknown ? error.message() : "nothing of that name");
    if (std::filesystem::is_directory(status))
      list_folder(input, options.extension, files);
    else if (std::filesystem::is_regular_file(status))
      files.push_back(input);
    else
      fail(input, "a text file or a folder", "something else");
  }
  if (files.empty()) fail("text", "at least one file", "none", "the folders hold no such files");
  return files;
}

CorpusReader::CorpusReader(CorpusOptions options, SafeCut safe_cut)
    : options_(std::move(options)), safe_cut_(std::move(safe_cut)), files_(list_corpus_files(options_)) {
  for (const auto& file : files_) total_bytes_ += std::filesystem::file_size(file);
}

CorpusReader::~CorpusReader() {
  if (file_ >= 0) close(file_);
}

bool CorpusReader::open_next_file() {
  if (next_file_ == files_.size()) return false;
  const auto& path = files_[next_file_++];
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail_with_errno(path, "open");
  if (options_.documents == "file") name_ = path;
  is_last_line_blank_ = true;
  return true;
}

// Appends up to `count` bytes; true at the end of the file, which is then closed.
bool CorpusReader::read_more(std::string& text, size_t count) {
  const auto start = text.size();
  text.resize(start + count);
  size_t done = 0;
  while (done < count) {
    const auto got = read(file_, text.data() + start + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(files_[next_file_ - 1], "read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text.resize(start + done);
  read_bytes_ += done;
  if (done == count) return false;
  close(std::exchange(file_, -1));
  return true;
}

bool CorpusReader::next(TextBlock& block) {
  block.pieces.clear();
  block.text = std::exchange(carry_, {});
  emitted_ = 0;
  while (file_ >= 0 || open_next_file()) {
    const bool is_end = read_more(block.text, std::max(options_.block_bytes, block.text.size() - emitted_));
    split_documents(block, is_end);
    if (is_end && (block.pieces.empty() || block.text.size() < options_.block_bytes)) continue;
    if (is_end || emit_safe_prefix(block)) break;
    if (block.text.size() >= options_.largest_block_bytes)
      fail(files_[next_file_ - 1], fmt::format("a place to cut within {} bytes", options_.largest_block_bytes), "none",
           "this tokenizer needs shorter lines, or shorter documents");
  }
  carry_ = block.text.substr(emitted_);
  block.text.resize(emitted_);
  scanned_ = scanned_ > emitted_ ? scanned_ - emitted_ : 0;
  block.source_end = read_bytes_ - carry_.size();
  return !block.pieces.empty();
}

// Adds [emitted_, end) as a piece of the current document.
void CorpusReader::emit(TextBlock& block, size_t end) {
  if (end == emitted_) return;
  TextPiece piece{emitted_, end, !is_inside_document_, before_, {}};
  if (piece.starts_document) piece.name = std::exchange(name_, {});
  block.pieces.push_back(std::move(piece));
  is_inside_document_ = true;
  before_ = block.text[end - 1];
  emitted_ = end;
}

void CorpusReader::end_document() {
  is_inside_document_ = false;
  before_ = '\n';
}

void CorpusReader::split_documents(TextBlock& block, bool is_end) {
  if (options_.documents == "file") scanned_ = block.text.size();
  while (scanned_ < block.text.size() && scan_line(block, is_end)) continue;
  if (!is_end) return;
  emit(block, block.text.size());
  end_document();
}

// Examines one more line; false if more text is needed to see all of it.
bool CorpusReader::scan_line(TextBlock& block, bool is_end) {
  const auto line = line_at(block.text, scanned_);
  if (!line.ends_with('\n') && !is_end) return false;
  const auto start = scanned_, end = start + line.size();
  if (options_.documents == "line") {
    emit(block, end);
    end_document();
  } else if (options_.documents == "article") {
    const auto next_line = line_at(block.text, end);
    if (!next_line.ends_with('\n') && !is_end) return false;
    if (is_last_line_blank_ && trim(next_line).empty()) start_article(block, start, article_title(line));
    is_last_line_blank_ = trim(line).empty();
  } else if (without_line_end(line) == options_.documents) {
    emit(block, start);
    end_document();
    emitted_ = end;
  }
  scanned_ = end;
  return true;
}

void CorpusReader::start_article(TextBlock& block, size_t line_start, std::string_view title) {
  if (title.empty()) return;
  // Blank lines before a file's first heading belong to that article.
  const auto before = std::string_view(block.text).substr(emitted_, line_start - emitted_);
  const bool is_blank_start = !is_inside_document_ && trim(before).empty();
  if (!is_blank_start) {
    emit(block, line_start);
    end_document();
  }
  name_ = title;
}

bool CorpusReader::emit_safe_prefix(TextBlock& block) {
  const bool has_line_rule = options_.documents != "file" && options_.documents != "line";
  const auto known = has_line_rule ? scanned_ : block.text.size();
  emit(block, emitted_ + safe_cut_(std::string_view(block.text).substr(emitted_, known - emitted_)));
  return !block.pieces.empty();
}

}  // namespace fwl
