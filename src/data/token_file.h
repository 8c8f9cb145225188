// A corpus as token ids in a memory-mapped file, with its documents and the hashes of its tokenizer and ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/token_layout.h"
#include "files/block_checksums.h"
#include "files/memory_map.h"
#include "support/progress.h"
#include "support/sha256.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

struct TokenDocument {
  int64_t first_token = 0;
  int64_t token_count = 0;
  int64_t byte_count = 0;  // of the source text, like the two below
  int64_t word_count = 0;  // runs of bytes other than ASCII whitespace
  int64_t line_count = 0;  // newlines, plus one if the last line has none
  std::string_view name;   // may be empty
};

// The checked bytes of a token file, which must outlive the view.
class TokenView {
 public:
  static constexpr int64_t ids_offset = sizeof(TokenFileHeader);

  // Checks everything but the ids, which are checked by block when they are read; `where` names the file in errors.
  TokenView(std::string where, std::span<const std::byte> bytes);

  int64_t size() const { return static_cast<int64_t>(header_.token_count); }
  int64_t vocabulary_size() const { return static_cast<int64_t>(header_.vocabulary_size); }
  int bytes_per_id() const { return static_cast<int>(header_.bytes_per_id); }
  std::string tokenizer_kind() const;
  std::string tokenizer_name() const;
  Digest tokenizer_hash() const;
  Digest ids_hash() const;  // the data hash of run records
  std::span<const std::byte> id_bytes() const { return ids_; }

  // Copies ids [first, first + out.size()) and checks each against the vocabulary and all against their checksums.
  void read(int64_t first, std::span<TokenId> out) const;
  void read(int64_t first, std::span<int64_t> out) const;

  int64_t document_count() const { return static_cast<int64_t>(header_.document_count); }
  TokenDocument document(int64_t index) const;
  int64_t first_token_of(int64_t document) const;  // size() for the document after the last
  int64_t document_at(int64_t token) const;        // the document that holds this token

  void check_all_ids() const;  // all blocks that were not read yet
  // Compares everything with the hashes in the header; throws a UserError if they differ.
  void verify(const ProgressReport& progress = {}) const;

 private:
  TokenFileDocument entry(uint64_t index) const;
  uint64_t name_end(uint64_t index) const;
  void check_header() const;
  void check_places() const;
  void check_documents() const;
  void check_documents_hash() const;
  std::vector<Digest> block_hashes() const;
  template <class T>
  void read_ids(int64_t first, std::span<T> out) const;
  [[noreturn]] void reject(std::string_view expected, const std::string& got) const;

  std::string where_;
  TokenFileHeader header_{};
  std::span<const std::byte> bytes_, ids_, table_, names_, hashes_;
  BlockChecksums blocks_;
};

// Whether a file starts as a token file does; false if it cannot be read.
bool is_token_file(const std::string& path);

class TokenFile : public TokenView {
 public:
  explicit TokenFile(const std::string& path) : TokenFile(MemoryMap(path)) {}
  explicit TokenFile(MemoryMap map) : TokenView(map.path(), map.bytes()), map_(std::move(map)) {}
  const std::string& path() const { return map_.path(); }

 private:
  MemoryMap map_;
};

}  // namespace fwl
