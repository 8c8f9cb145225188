// The byte layout of token files, shared by reader and writer; docs/data.md shows it as a table.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace fwl {

static_assert(std::endian::native == std::endian::little, "token files are little endian and mapped as they are");

struct TokenFileHeader {
  char magic[8];
  uint32_t version;
  uint32_t bytes_per_id;
  uint64_t vocabulary_size;
  uint64_t token_count;
  uint64_t document_count;
  uint64_t documents_offset;
  uint64_t names_offset;
  uint64_t names_bytes;
  uint8_t tokenizer_hash[32];
  uint8_t ids_hash[32];        // of the ids as they are stored
  uint8_t documents_hash[32];  // of the document table, the names and the hashes of the blocks
  char tokenizer_kind[16];     // UTF-8, padded with zeros
  char tokenizer_name[48];
  uint8_t header_hash[32];  // of everything above
};
static_assert(sizeof(TokenFileHeader) == 256, "the ids start at byte 256");

struct TokenFileDocument {
  uint64_t first_token;
  uint64_t byte_count;
  uint64_t word_count;
  uint64_t line_count;
  uint64_t name_start;  // its name ends where the next one starts
};
static_assert(sizeof(TokenFileDocument) == 40);

constexpr char token_file_magic[8] = {'F', 'W', 'L', 'T', 'O', 'K', 'E', 'N'};
constexpr uint32_t token_file_version = 2;        // 1: without the hashes of the blocks
constexpr uint64_t ids_block_bytes = 1ULL << 20;  // each such block of ids has its SHA-256 at the end of the file
constexpr uint64_t largest_vocabulary = uint64_t{1} << 31;

constexpr uint32_t bytes_per_id(uint64_t vocabulary_size) {
  return vocabulary_size <= (1U << 16) ? 2 : 4;
}

}  // namespace fwl
