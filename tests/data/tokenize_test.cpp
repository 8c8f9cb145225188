#include "data/tokenize.h"

#include <random>

#include "data/token_file.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/message_of.h"
#include "support/scratch.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/fake_tokenizer.h"

namespace fwl {
namespace {

TokenizeOptions options_for(const std::string& folder, std::vector<std::string> inputs, std::string documents) {
  TokenizeOptions options;
  options.corpus.inputs = std::move(inputs);
  options.corpus.documents = std::move(documents);
  options.out = folder + "/out.tokens";
  return options;
}

std::vector<std::string> documents_of(const std::string& path) {
  const TokenFile file(path);
  const FakeTokenizer tokenizer;
  std::vector<std::string> texts;
  for (int64_t i = 0; i < file.document_count(); ++i) {
    const auto document = file.document(i);
    std::vector<TokenId> ids(static_cast<size_t>(document.token_count));
    file.read(document.first_token, std::span(ids));
    texts.push_back(tokenizer.decode(ids));
    EXPECT_EQ(document.byte_count, static_cast<int64_t>(texts.back().size()));
  }
  return texts;
}

std::string random_lines(std::mt19937& random, const std::vector<std::string>& lines, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += lines[random() % lines.size()];
  return text;
}

using Texts = std::vector<std::string>;

TEST(Tokenize, DocumentsAreFilesOfFoldersInOrder) {
  const auto folder = fresh_folder("tokenize_files");
  write_text(folder + "/text/b.txt", "bee\n");
  write_text(folder + "/text/a/z.txt", "zed");
  write_text(folder + "/text/.hidden", "no");
  write_text(folder + "/text/empty.txt", "");
  write_text(folder + "/one.txt", "1\n\n");
  const auto options = options_for(folder, {folder + "/one.txt", folder + "/text"}, "file");
  const auto result = tokenize_corpus(FakeTokenizer(), options);
  EXPECT_EQ(documents_of(options.out), (Texts{"1\n\n", "zed", "bee\n"}));
  EXPECT_EQ(TokenFile(options.out).document(1).name, folder + "/text/a/z.txt");
  EXPECT_EQ(result.files, 4);
  EXPECT_EQ(result.documents, 3);
  EXPECT_EQ(result.bytes, 10);
  EXPECT_EQ(result.words, 3);
  EXPECT_EQ(result.lines, 4);
}

TEST(Tokenize, DocumentsAreLines) {
  const auto folder = fresh_folder("tokenize_lines");
  const auto options = options_for(folder, {write_text(folder + "/a", "one\n\ntwo words\nlast")}, "line");
  tokenize_corpus(FakeTokenizer(), options);
  EXPECT_EQ(documents_of(options.out), (Texts{"one\n", "\n", "two words\n", "last"}));
  EXPECT_EQ(TokenFile(options.out).document(2).word_count, 2);
}

TEST(Tokenize, DocumentsAreArticlesWhoseHeadingsHaveOneEqualsSignAndBlankLinesAround) {
  const auto folder = fresh_folder("tokenize_articles");
  const std::string first =
      " \n = Fox = \n \n Red . \n = = Diet = = \n \n = = = Deep = = = \n \n m \n = 3 ; n = \n 4 \n \n = no = \n a \n "
      "\n";
  const std::string second = " = 1 = 2 = \n";
  const auto options = options_for(folder, {write_text(folder + "/a", first + second)}, "article");
  tokenize_corpus(FakeTokenizer(), options);
  EXPECT_EQ(documents_of(options.out), (Texts{first, second}));
  EXPECT_EQ(TokenFile(options.out).document(0).name, "Fox");
  EXPECT_EQ(TokenFile(options.out).document(1).name, "1 = 2");
}

TEST(Tokenize, DocumentsAreSeparatedByMarkerLines) {
  const auto folder = fresh_folder("tokenize_marker");
  const auto path = write_text(folder + "/a", "<|end|>\none\n<|end|>\n<|end|>\r\ntwo <|end|>\n<|end|> two\n<|end|>");
  const auto options = options_for(folder, {path}, "<|end|>");
  tokenize_corpus(FakeTokenizer(), options);
  EXPECT_EQ(documents_of(options.out), (Texts{"one\n", "two <|end|>\n<|end|> two\n"}));
}

TEST(Tokenize, TheEndTokenFollowsEveryDocument) {
  const auto folder = fresh_folder("tokenize_end");
  auto options = options_for(folder, {write_text(folder + "/a", "one\ntwo\n")}, "line");
  options.append_end = true;
  EXPECT_EQ(tokenize_corpus(FakeTokenizer(), options).tokens, 10);
  const TokenFile file(options.out);
  std::vector<TokenId> ids(10);
  file.read(0, std::span(ids));
  EXPECT_EQ(FakeTokenizer().decode(ids), std::string("one\n\0two\n\0", 10));
  EXPECT_NE(message_of([&] { tokenize_corpus(LineLengthTokenizer(), options); }).find("end token"), std::string::npos);
}

TEST(Tokenize, TheFileIsTheSameForEveryBlockSizeAndThreadCount) {
  const auto folder = fresh_folder("tokenize_blocks");
  std::mt19937 random(7);
  const std::vector<std::string> lines = {
      "\n",     " = Title = \n", " = = Part = = \n",
      "STOP\n", "a few words\n", "a longer line that does not fit into the smallest of blocks\n",
      "end"};
  for (const auto* documents : {"file", "line", "article", "STOP"}) {
    for (int i = 0; i < 5; ++i)
      write_text(folder + "/text/" + std::to_string(i), random_lines(random, lines, random() % 60));
    auto options = options_for(folder, {folder + "/text"}, documents);
    const auto expected = tokenize_corpus(LineLengthTokenizer(), options);
    const auto bytes = read_text(options.out);
    for (const size_t block_bytes : {1, 2, 7, 20, 100, 1000}) {
      options.corpus.block_bytes = block_bytes;
      options.threads = 1 + static_cast<int64_t>(random() % 4);
      const auto result = tokenize_corpus(LineLengthTokenizer(), options);
      EXPECT_EQ(result.words, expected.words);
      ASSERT_EQ(read_text(options.out), bytes) << documents << " in blocks of " << block_bytes;
    }
  }
}

TEST(Tokenize, DocumentsAreTheSameWhereverBlocksAreCut) {
  const auto folder = fresh_folder("tokenize_cuts");
  std::mt19937 random(8);
  const std::vector<std::string> lines = {"\n",     "\n = Title = \n\n", "x = y = \n", "\n",
                                          "STOP\n", "x STOP\n",          "words\n"};
  for (const auto* documents : {"file", "line", "article", "STOP", " STOP"}) {
    auto options = options_for(folder, {write_text(folder + "/a", random_lines(random, lines, 80))}, documents);
    tokenize_corpus(ByteTokenizer(), options);
    const auto bytes = read_text(options.out);
    for (size_t block_bytes = 1; block_bytes < 20; ++block_bytes) {
      options.corpus.block_bytes = block_bytes;
      tokenize_corpus(ByteTokenizer(), options);
      ASSERT_EQ(read_text(options.out), bytes) << documents << " in blocks of " << block_bytes;
    }
  }
}

// One id, the length of the text, for every call.
class TextLengthTokenizer : public LineLengthTokenizer {
 public:
  void encode_marked(std::string_view text, Markup, std::vector<TokenId>& ids) const override {
    ids.push_back(static_cast<TokenId>(text.size()));
  }
  bool is_by_line() const override { return true; }
};

TEST(Tokenize, AVocabularyOfLinesSeesOneLineAtATime) {
  const auto folder = fresh_folder("tokenize_by_line");
  const auto options = options_for(folder, {write_text(folder + "/a", "one\n\nthree\nlast")}, "file");
  EXPECT_EQ(tokenize_corpus(TextLengthTokenizer(), options).tokens, 4);
}

TEST(Tokenize, TextWithoutAPlaceToCutIsAnErrorOnceTheBlockIsTooLarge) {
  const auto folder = fresh_folder("tokenize_uncut");
  auto options = options_for(folder, {write_text(folder + "/a", std::string(5000, 'x'))}, "file");
  options.corpus.block_bytes = 100;
  EXPECT_EQ(tokenize_corpus(FakeTokenizer(), options).tokens, 5000);
  options.corpus.largest_block_bytes = 1000;
  EXPECT_NE(message_of([&] { tokenize_corpus(FakeTokenizer(), options); }).find("a place to cut within 1000 bytes"),
            std::string::npos);
}

TEST(Tokenize, BadInputsAreClearErrorsAndLeaveNoFile) {
  const auto folder = fresh_folder("tokenize_bad");
  const auto error = [&](std::vector<std::string> inputs) {
    return message_of([&] { tokenize_corpus(FakeTokenizer(), options_for(folder, std::move(inputs), "file")); });
  };
  EXPECT_NE(error({folder + "/absent"}).find("absent: expected a text file or a folder"), std::string::npos);
  EXPECT_NE(error({folder}).find("expected at least one file"), std::string::npos);
  EXPECT_NE(error({write_text(folder + "/empty", "")}).find("expected some text, got none"), std::string::npos);
  EXPECT_NE(error({write_text(folder + "/out.tokens", "x")}).find("an output apart from the inputs"),
            std::string::npos);
  EXPECT_EQ(read_text(folder + "/out.tokens"), "x");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

TEST(Tokenize, AnInterruptLeavesNoFileBehind) {
  const auto folder = fresh_folder("tokenize_interrupt");
  const auto options = options_for(folder, {write_text(folder + "/text/a", "some text\n")}, "file");
  const InterruptScope scope;
  raise(SIGTERM);
  EXPECT_THROW(tokenize_corpus(FakeTokenizer(), options), Interrupted);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

}  // namespace
}  // namespace fwl
