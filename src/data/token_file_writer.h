// Writes a token file as a stream, with constant memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/token_layout.h"
#include "files/atomic_file.h"
#include "files/block_checksums.h"
#include "files/spill_file.h"
#include "support/sha256.h"
#include "tokenizer/tokenizer.h"

namespace fwl {

class TokenFileWriter {
 public:
  // `tokenizer_name` is informative; the tokenizer is identified by its hash. An empty path: a temporary file.
  TokenFileWriter(const std::string& path, const Tokenizer& tokenizer, std::string_view tokenizer_name);

  void start_document(std::string_view name);
  // Appends to the current document; the counts are those of the source text.
  void append(std::span<const TokenId> ids, uint64_t bytes = 0, uint64_t words = 0, uint64_t lines = 0);
  void commit();                                 // without it no file appears
  MemoryMap map() const { return file_.map(); }  // after commit()

  // Totals so far; documents without tokens are left out.
  uint64_t token_count() const { return header_.token_count; }
  uint64_t document_count() const { return header_.document_count; }
  uint64_t word_count() const { return word_count_; }
  uint64_t line_count() const { return line_count_; }
  const Digest& ids_hash() const { return ids_digest_; }  // after commit()

 private:
  void finish_document();
  void write_documents();
  template <class Id>
  void write_ids(std::span<const TokenId> ids);

  AtomicFile file_;
  SpillFile table_, names_;
  TokenFileHeader header_{};
  Sha256 ids_hash_;
  BlockHasher block_hashes_{ids_block_bytes};
  Digest ids_digest_{};
  TokenFileDocument document_{};
  std::string document_name_;
  uint64_t word_count_ = 0, line_count_ = 0;
  std::vector<char> buffer_;
};

}  // namespace fwl
