#include "data/token_file.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/token_file_writer.h"
#include "support/error.h"
#include "support/scratch.h"
#include "tokenizer/fake_tokenizer.h"

namespace fwl {
namespace {

std::vector<TokenId> counting_ids(size_t count) {
  std::vector<TokenId> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::string written_file(const std::string& path, int64_t vocabulary_size) {
  const FakeTokenizer tokenizer(vocabulary_size);
  TokenFileWriter writer(path, tokenizer, "made for a test");
  const auto ids = counting_ids(5);
  writer.start_document("first");
  writer.append(std::span(ids).first(2), 20, 3, 1);
  writer.append(std::span(ids).subspan(2, 1), 7, 1, 1);
  writer.start_document("without any token");
  writer.start_document("");
  writer.append(std::span(ids).subspan(3, 1), 1, 1, 1);
  writer.start_document("último");
  writer.append(std::span(ids).subspan(4, 1), 9, 2, 2);
  writer.commit();
  return path;
}

std::string error_of(std::string_view bytes) {
  try {
    TokenView("x.tokens", std::as_bytes(std::span(bytes))).verify();
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

TEST(TokenFile, GivesBackIdsDocumentsAndHashesInBothIdWidths) {
  for (const int64_t vocabulary_size : {5L, 65536L, 65537L, 128256L}) {
    const TokenFile file(written_file(fresh_folder("token_file") + "/a.tokens", vocabulary_size));
    EXPECT_EQ(file.bytes_per_id(), vocabulary_size <= 65536 ? 2 : 4);
    EXPECT_EQ(file.vocabulary_size(), vocabulary_size);
    EXPECT_EQ(file.tokenizer_kind(), "fake");
    EXPECT_EQ(file.tokenizer_name(), "made for a test");
    EXPECT_EQ(file.tokenizer_hash(), sha256("fake"));
    std::vector<TokenId> ids(5);
    file.read(0, std::span(ids));
    EXPECT_EQ(ids, counting_ids(5));
    ASSERT_EQ(file.document_count(), 3);
    EXPECT_EQ(file.document(0).name, "first");
    EXPECT_EQ(file.document(0).token_count, 3);
    EXPECT_EQ(file.document(0).byte_count, 27);
    EXPECT_EQ(file.document(0).word_count, 4);
    EXPECT_EQ(file.document(0).line_count, 2);
    EXPECT_EQ(file.document(1).name, "");
    EXPECT_EQ(file.document(2).name, "último");
    EXPECT_EQ(file.document(2).first_token, 4);
    for (int64_t token = 0; token < 5; ++token) EXPECT_EQ(file.document_at(token), std::max<int64_t>(0, token - 2));
    EXPECT_NO_THROW(file.verify());
  }
}

TEST(TokenFile, AnEmptyCorpusIsAFileWithoutDocuments) {
  const auto path = fresh_folder("token_file") + "/a.tokens";
  TokenFileWriter(path, FakeTokenizer(), "").commit();
  const TokenFile file(path);
  EXPECT_EQ(file.size(), 0);
  EXPECT_EQ(file.document_count(), 0);
  EXPECT_NO_THROW(file.verify());
}

TEST(TokenFile, EveryChangedByteIsNoticedByTheChecksOrByVerify) {
  const auto good = read_text(written_file(fresh_folder("token_file") + "/a.tokens", 300));
  ASSERT_EQ(error_of(good), "");
  for (size_t i = 0; i < good.size(); ++i) {
    const bool is_padding = i >= 256 + 10 && i < 256 + 16;
    if (is_padding) continue;
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    EXPECT_NE(error_of(bad), "") << "byte " << i;
  }
}

TEST(TokenFile, EveryTruncationIsAnErrorThatNamesTheFile) {
  const auto good = read_text(written_file(fresh_folder("token_file") + "/a.tokens", 300));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(error_of(good.substr(0, size)).find("x.tokens: expected"), std::string::npos) << size;
}

TEST(TokenFile, ReadingOutsideIsAProgrammingError) {
  const TokenFile file(written_file(fresh_folder("token_file") + "/a.tokens", 300));
  std::vector<int64_t> ids(3);
  EXPECT_THROW(file.read(3, std::span(ids)), std::out_of_range);
  EXPECT_THROW(file.read(-1, std::span(ids)), std::out_of_range);
  EXPECT_THROW(file.document(3), std::out_of_range);
}

TEST(TokenFileWriter, LeavesNothingBehindWithoutCommit) {
  const auto folder = fresh_folder("token_file_abandoned");
  {
    const FakeTokenizer tokenizer;
    TokenFileWriter writer(folder + "/a.tokens", tokenizer, "");
    writer.append(counting_ids(3));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace fwl
