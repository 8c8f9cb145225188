#include "data/token_file_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace fwl {
namespace {

std::string folder_of(const std::string& path) {
  return path.empty() ? temporary_folder() : std::filesystem::path(path).parent_path().string();
}

// Cuts between characters, so that the rest stays valid UTF-8.
void copy_padded(std::string_view text, std::span<char> out) {
  size_t count = std::min(text.size(), out.size());
  while (count < text.size() && count > 0 && (static_cast<uint8_t>(text[count]) & 0xC0) == 0x80) --count;
  std::copy_n(text.data(), count, out.data());
}

}  // namespace

TokenFileWriter::TokenFileWriter(const std::string& path, const Tokenizer& tokenizer, std::string_view tokenizer_name)
    : file_(path.empty() ? AtomicFile() : AtomicFile(path)), table_(folder_of(path)), names_(folder_of(path)) {
  std::copy(std::begin(token_file_magic), std::end(token_file_magic), header_.magic);
  header_.version = token_file_version;
  header_.vocabulary_size = static_cast<uint64_t>(tokenizer.vocabulary_size());
  header_.bytes_per_id = bytes_per_id(header_.vocabulary_size);
  std::ranges::copy(tokenizer.hash(), header_.tokenizer_hash);
  copy_padded(tokenizer.kind(), header_.tokenizer_kind);
  copy_padded(tokenizer_name, header_.tokenizer_name);
  file_.write(&header_, sizeof header_);
}

void TokenFileWriter::start_document(std::string_view name) {
  finish_document();
  document_ = {};
  document_.first_token = header_.token_count;
  document_name_ = name;
}

void TokenFileWriter::finish_document() {
  if (header_.token_count == document_.first_token) return;
  document_.name_start = names_.size();
  table_.write(&document_, sizeof document_);
  names_.write(document_name_.data(), document_name_.size());
  ++header_.document_count;
  word_count_ += document_.word_count;
  line_count_ += document_.line_count;
}

void TokenFileWriter::append(std::span<const TokenId> ids, uint64_t bytes, uint64_t words, uint64_t lines) {
  header_.bytes_per_id == 2 ? write_ids<uint16_t>(ids) : write_ids<uint32_t>(ids);
  document_.byte_count += bytes;
  document_.word_count += words;
  document_.line_count += lines;
}

template <class Id>
void TokenFileWriter::write_ids(std::span<const TokenId> ids) {
  buffer_.resize(ids.size() * sizeof(Id));
  uint32_t largest = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<Id>(ids[i]);
    largest = std::max(largest, static_cast<uint32_t>(ids[i]));
    std::memcpy(buffer_.data() + i * sizeof id, &id, sizeof id);
  }
  if (!ids.empty() && largest >= header_.vocabulary_size)
    throw std::logic_error(fmt::format("a tokenizer gave id {} of {}", largest, header_.vocabulary_size));
  ids_hash_.update(buffer_.data(), buffer_.size());
  block_hashes_.update(buffer_.data(), buffer_.size());
  file_.write(buffer_.data(), buffer_.size());
  header_.token_count += ids.size();
}

void TokenFileWriter::write_documents() {
  constexpr char zeros[8] = {};
  file_.write(zeros, (8 - file_.size() % 8) % 8);
  Sha256 hash;
  const auto copy = [&](std::span<const char> block) {
    hash.update(block.data(), block.size());
    file_.write(block.data(), block.size());
  };
  header_.documents_offset = file_.size();
  table_.replay(copy);
  header_.names_offset = file_.size();
  header_.names_bytes = names_.size();
  names_.replay(copy);
  for (const auto& block : block_hashes_.finish()) copy({reinterpret_cast<const char*>(block.data()), block.size()});
  std::ranges::copy(hash.finish(), header_.documents_hash);
}

void TokenFileWriter::commit() {
  finish_document();
  write_documents();
  ids_digest_ = ids_hash_.finish();
  std::ranges::copy(ids_digest_, header_.ids_hash);
  Sha256 hash;
  hash.update(&header_, offsetof(TokenFileHeader, header_hash));
  std::ranges::copy(hash.finish(), header_.header_hash);
  file_.write_at(0, &header_, sizeof header_);
  file_.commit();
}

}  // namespace fwl
