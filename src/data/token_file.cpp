#include "data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "support/error.h"

namespace fwl {
namespace {

std::string padded_text(const char* text, size_t size) {
  return {text, strnlen(text, size)};
}

Digest digest_of(const uint8_t (&bytes)[32]) {
  Digest digest;
  std::copy(std::begin(bytes), std::end(bytes), digest.begin());
  return digest;
}

// Without the control characters that a binary file would soon have.
bool looks_like_text(std::string_view start) {
  return !start.empty() && std::ranges::all_of(start, [](unsigned char letter) {
    return letter >= 0x20 || letter == '\n' || letter == '\r' || letter == '\t';
  });
}

}  // namespace

bool is_token_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[sizeof token_file_magic] = {};
  return file.read(start, sizeof start) && std::ranges::equal(start, token_file_magic);
}

void TokenView::reject(std::string_view expected, const std::string& got) const {
  fail(where_, expected, got, "the file is damaged or not a token file of this version");
}

TokenView::TokenView(std::string where, std::span<const std::byte> bytes) : where_(std::move(where)), bytes_(bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), sizeof header_));
  if (!start.starts_with(std::string_view(token_file_magic, sizeof token_file_magic)) && looks_like_text(start))
    fail(where_, "a token file", "text", "make a token file of it with fwl tokenize, or give it as --text");
  if (bytes.size() < sizeof header_) reject("a token file of at least 256 bytes", fmt::format("{}", bytes.size()));
  std::memcpy(&header_, bytes.data(), sizeof header_);
  check_header();
  check_places();
  ids_ = bytes.subspan(ids_offset, header_.token_count * header_.bytes_per_id);
  table_ = bytes.subspan(header_.documents_offset, header_.document_count * sizeof(TokenFileDocument));
  names_ = bytes.subspan(header_.names_offset, header_.names_bytes);
  hashes_ = bytes.subspan(header_.names_offset + header_.names_bytes);
  check_documents_hash();
  check_documents();
  blocks_ = BlockChecksums(where_, ids_, ids_block_bytes, block_hashes());
}

void TokenView::check_documents_hash() const {
  Sha256 hash;
  for (const auto part : {table_, names_, hashes_}) hash.update(part.data(), part.size());
  if (hash.finish() != digest_of(header_.documents_hash))
    reject("the SHA-256 of the documents in the header", "another");
}

std::vector<Digest> TokenView::block_hashes() const {
  std::vector<Digest> digests(hashes_.size() / sizeof(Digest));
  if (!digests.empty()) std::memcpy(digests.data(), hashes_.data(), digests.size() * sizeof(Digest));
  return digests;
}

void TokenView::check_header() const {
  if (!std::equal(std::begin(token_file_magic), std::end(token_file_magic), header_.magic))
    reject("a token file that starts with FWLTOKEN", "other bytes");
  if (header_.version != token_file_version)
    fail(where_, fmt::format("a token file of version {}", token_file_version),
         fmt::format("version {}", header_.version), "made by another version of fwl: make it again with fwl tokenize");
  const std::string_view hashed(reinterpret_cast<const char*>(bytes_.data()), offsetof(TokenFileHeader, header_hash));
  if (sha256(hashed) != digest_of(header_.header_hash)) reject("the header's SHA-256", "another");
  if (header_.vocabulary_size == 0 || header_.vocabulary_size > largest_vocabulary)
    reject("a vocabulary of 1 to 2^31 ids", fmt::format("{}", header_.vocabulary_size));
  if (header_.bytes_per_id != fwl::bytes_per_id(header_.vocabulary_size))
    reject(fmt::format("{} bytes per id", fwl::bytes_per_id(header_.vocabulary_size)),
           fmt::format("{}", header_.bytes_per_id));
}

// Compares every number with the rest of the file, by division, so that nothing can overflow.
void TokenView::check_places() const {
  const uint64_t after_header = bytes_.size() - ids_offset;
  if (header_.token_count > after_header / header_.bytes_per_id)
    reject("room for all ids", fmt::format("{} ids in {} bytes", header_.token_count, bytes_.size()));
  const uint64_t ids_end = ids_offset + header_.token_count * header_.bytes_per_id;
  const uint64_t documents_offset = (ids_end + 7) / 8 * 8;
  if (header_.documents_offset != documents_offset || documents_offset > bytes_.size())
    reject(fmt::format("the document table at byte {}", documents_offset),
           fmt::format("{} in a file of {} bytes", header_.documents_offset, bytes_.size()));
  const uint64_t after_ids = bytes_.size() - documents_offset;
  if (header_.document_count > after_ids / sizeof(TokenFileDocument))
    reject("room for all documents", fmt::format("{} documents in {} bytes", header_.document_count, after_ids));
  const uint64_t names_offset = documents_offset + header_.document_count * sizeof(TokenFileDocument);
  const uint64_t after_table = bytes_.size() - names_offset;
  const uint64_t hashes_bytes =
      block_count(header_.token_count * header_.bytes_per_id, ids_block_bytes) * sizeof(Digest);
  if (header_.names_offset != names_offset || header_.names_bytes > after_table ||
      after_table - header_.names_bytes != hashes_bytes)
    reject("the names of the documents and the hashes of the ids to fill the rest of the file",
           fmt::format("{} bytes at byte {}", header_.names_bytes, header_.names_offset));
}

void TokenView::check_documents() const {
  if ((header_.document_count == 0) != (header_.token_count == 0))
    reject("documents where there are tokens", fmt::format("{} documents", header_.document_count));
  uint64_t token = 0, name = 0;
  constexpr uint64_t largest_count = uint64_t{1} << 62;
  for (uint64_t i = 0; i < header_.document_count; ++i) {
    const auto document = entry(i);
    const bool starts_well = i == 0 ? document.first_token == 0 && document.name_start == 0
                                    : document.first_token > token && document.name_start >= name;
    const bool is_inside = document.first_token < header_.token_count && document.name_start <= header_.names_bytes;
    if (!starts_well || !is_inside)
      reject("documents in order and inside the ids", fmt::format("document {} at {}", i, document.first_token));
    if (std::max({document.byte_count, document.word_count, document.line_count}) > largest_count)
      reject("counts below 2^62", fmt::format("document {}", i));
    token = document.first_token;
    name = document.name_start;
  }
}

TokenFileDocument TokenView::entry(uint64_t index) const {
  TokenFileDocument document;
  std::memcpy(&document, table_.data() + index * sizeof document, sizeof document);
  return document;
}

uint64_t TokenView::name_end(uint64_t index) const {
  return index + 1 < header_.document_count ? entry(index + 1).name_start : header_.names_bytes;
}

std::string TokenView::tokenizer_kind() const {
  return padded_text(header_.tokenizer_kind, sizeof header_.tokenizer_kind);
}

std::string TokenView::tokenizer_name() const {
  return padded_text(header_.tokenizer_name, sizeof header_.tokenizer_name);
}

Digest TokenView::tokenizer_hash() const {
  return digest_of(header_.tokenizer_hash);
}

Digest TokenView::ids_hash() const {
  return digest_of(header_.ids_hash);
}

template <class T>
void TokenView::read_ids(int64_t first, std::span<T> out) const {
  const auto count = static_cast<int64_t>(out.size());
  if (first < 0 || count > size() || first > size() - count)
    throw std::out_of_range(fmt::format("{}: ids {} to {} of {}", where_, first, first + count, size()));
  blocks_.expect_whole(static_cast<uint64_t>(first * bytes_per_id()), static_cast<uint64_t>(count * bytes_per_id()));
  const auto* start = ids_.data() + first * bytes_per_id();
  uint32_t largest = 0;
  const auto copy = [&]<class Id>(Id) {
    for (int64_t i = 0; i < count; ++i) {
      Id id;
      std::memcpy(&id, start + i * static_cast<int64_t>(sizeof id), sizeof id);
      out[static_cast<size_t>(i)] = static_cast<T>(id);
      largest = std::max<uint32_t>(largest, id);
    }
  };
  bytes_per_id() == 2 ? copy(uint16_t{}) : copy(uint32_t{});
  if (count > 0 && largest >= header_.vocabulary_size)
    reject(fmt::format("ids below {}", header_.vocabulary_size), fmt::format("{}", largest));
}

void TokenView::read(int64_t first, std::span<TokenId> out) const {
  read_ids(first, out);
}

void TokenView::read(int64_t first, std::span<int64_t> out) const {
  read_ids(first, out);
}

TokenDocument TokenView::document(int64_t index) const {
  if (index < 0 || index >= document_count())
    throw std::out_of_range(fmt::format("{}: document {} of {}", where_, index, document_count()));
  const auto found = entry(static_cast<uint64_t>(index));
  TokenDocument document;
  document.first_token = static_cast<int64_t>(found.first_token);
  document.token_count = first_token_of(index + 1) - document.first_token;
  document.byte_count = static_cast<int64_t>(found.byte_count);
  document.word_count = static_cast<int64_t>(found.word_count);
  document.line_count = static_cast<int64_t>(found.line_count);
  const auto name = names_.subspan(found.name_start, name_end(static_cast<uint64_t>(index)) - found.name_start);
  document.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  return document;
}

int64_t TokenView::first_token_of(int64_t document) const {
  return document < document_count() ? static_cast<int64_t>(entry(static_cast<uint64_t>(document)).first_token)
                                     : size();
}

int64_t TokenView::document_at(int64_t token) const {
  int64_t low = 0, high = document_count();  // the first token of `low` is at or before `token`, that of `high` is not
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (first_token_of(middle) <= token ? low : high) = middle;
  }
  return low;
}

void TokenView::check_all_ids() const {
  blocks_.expect_whole(0, ids_.size());
}

void TokenView::verify(const ProgressReport& progress) const {
  Sha256 hash;
  std::vector<TokenId> ids(static_cast<size_t>(std::min<int64_t>(size(), 1 << 20)));
  for (int64_t done = 0; done < size(); done += static_cast<int64_t>(ids.size())) {
    const auto count = std::min(static_cast<int64_t>(ids.size()), size() - done);
    read(done, std::span(ids).first(static_cast<size_t>(count)));
    hash.update(ids_.data() + done * bytes_per_id(), static_cast<size_t>(count * bytes_per_id()));
    if (progress) progress({done + count, size(), "tokens", {}});
  }
  if (hash.finish() != digest_of(header_.ids_hash)) reject("the SHA-256 of the ids in the header", "another");
}

}  // namespace fwl
