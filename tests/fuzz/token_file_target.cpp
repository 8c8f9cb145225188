#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "data/reading_batches.h"
#include "data/shuffled_batches.h"
#include "data/token_file.h"
#include "data/token_file_writer.h"
#include "fuzz/fuzz_target.h"
#include "support/sha256.h"
#include "tokenizer/fake_tokenizer.h"

namespace fwl {
namespace {

std::string sample_token_file(int64_t vocabulary_size, const std::vector<std::string>& documents) {
  const auto path = std::filesystem::temp_directory_path() / ("fwl_fuzz_seed." + std::to_string(getpid()));
  const FakeTokenizer tokenizer(vocabulary_size);
  TokenFileWriter writer(path, tokenizer, "sample");
  for (const auto& text : documents) {
    writer.start_document(text.substr(0, 2));
    writer.append(tokenizer.Tokenizer::encode(text), text.size(), 1, 1);
  }
  writer.commit();
  std::string bytes(MemoryMap(path).text());
  std::filesystem::remove(path);
  return bytes;
}

void run(std::string_view bytes) {
  const TokenView file("input.tokens", std::as_bytes(std::span(bytes)));
  (void)(file.tokenizer_kind() + file.tokenizer_name());
  for (int64_t i = 0; i < file.document_count(); ++i) {
    const auto document = file.document(i);
    (void)std::string(document.name);
    if (file.document_at(document.first_token) != i) __builtin_trap();
  }
  TokenBatch batch;
  if (file.size() < 4) return file.verify();
  ReadingBatches reading(file, {.rows = 2, .segment_tokens = 5});
  while (reading.next(batch)) continue;
  ShuffledBatches shuffled(file, {.rows = 3, .segment_tokens = 4});
  shuffled.next(batch);
  file.verify();
}

std::string repair(std::string bytes) {
  constexpr auto hashed = offsetof(TokenFileHeader, header_hash);
  if (bytes.size() < sizeof(TokenFileHeader)) return bytes;
  const auto digest = sha256(std::string_view(bytes).substr(0, hashed));
  std::memcpy(bytes.data() + hashed, digest.data(), digest.size());
  return bytes;
}

}  // namespace

FuzzTarget token_file_target() {
  return {"token_file",
          {sample_token_file(256, {"a few words", "x", "more of them"}), sample_token_file(100000, {"one document"}),
           sample_token_file(256, {})},
          run,
          repair};
}

}  // namespace fwl
