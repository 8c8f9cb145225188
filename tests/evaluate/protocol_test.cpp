#include "evaluate/protocol.h"

#include <gtest/gtest.h>

#include "cli/run_fwl.h"
#include "support/message_of.h"
#include "support/scratch.h"

namespace fwl {
namespace {

// Documents of 11, 2 and 6 tokens.
TokenFile sample(const std::string& name) {
  const auto folder = fresh_folder(name), path = folder + "/a.tokens";
  const auto source = write_text(folder + "/a.txt", "0123456789\na\nbcdef\n");
  EXPECT_EQ(run_fwl({"tokenize", "--tokenizer", "bytes", "--documents", "line", "--out", path, source}).exit_code, 0);
  return TokenFile(path);
}

// How often each token is scored, and with how many tokens before it in its piece.
struct Scored {
  std::vector<int> times;
  std::vector<int64_t> context;
};

Scored count(const TokenView& tokens, const ProtocolOptions& options) {
  Scored scored{std::vector<int>(static_cast<size_t>(tokens.size()), 0),
                std::vector<int64_t>(static_cast<size_t>(tokens.size()), 0)};
  for (const auto& piece : cut_into_pieces(tokens, options)) {
    EXPECT_LE(piece.first + piece.count + 1, tokens.size());
    EXPECT_GT(piece.scored(), 0);
    for (int64_t target = piece.first_scored; target < piece.first + piece.count + 1; ++target) {
      ++scored.times[static_cast<size_t>(target)];
      scored.context[static_cast<size_t>(target)] = target - piece.first;
    }
  }
  return scored;
}

TEST(Protocol, StreamScoresEveryTokenButTheFirstOnceForAnyLengths) {
  const auto tokens = sample("protocol_stream");
  for (const int64_t context : {2, 3, 5, 19, 50})
    for (const int64_t segment : {0, 1, 2, 7}) {
      const auto scored = count(tokens, {Protocol::stream, context, true, segment, 0, false});
      EXPECT_EQ(scored.times[0], 0);
      for (size_t token = 1; token < scored.times.size(); ++token) EXPECT_EQ(scored.times[token], 1);
    }
}

TEST(Protocol, StreamStartsABoundedBaseAnewWithEveryWindowAndTheFastWeightsOnce) {
  const auto pieces = cut_into_pieces(sample("protocol_reset"), {Protocol::stream, 6, true, 3, 0, false});
  std::vector<int64_t> bases, fasts;
  for (const auto& piece : pieces) {
    if (piece.resets_base) bases.push_back(piece.first);
    if (piece.resets_fast) fasts.push_back(piece.first);
  }
  EXPECT_EQ(bases, (std::vector<int64_t>{0, 6, 12}));
  EXPECT_EQ(fasts, (std::vector<int64_t>{0}));
}

TEST(Protocol, AtDocumentsEveryDocumentsFirstTokenIsLeftOut) {
  const auto scored = count(sample("protocol_documents"), {Protocol::stream, 4, false, 0, 0, true});
  for (size_t token = 0; token < scored.times.size(); ++token)
    EXPECT_EQ(scored.times[token], token == 0 || token == 11 || token == 13 ? 0 : 1) << token;
}

TEST(Protocol, WindowsLeaveOutTheFirstTokenOfEach) {
  const auto tokens = sample("protocol_windows");
  for (const int64_t segment : {0, 1, 3, 4, 7}) {
    const auto scored = count(tokens, {Protocol::windows, 5, true, segment, 0, false});
    for (size_t token = 0; token < scored.times.size(); ++token)
      EXPECT_EQ(scored.times[token], token % 5 == 0 ? 0 : 1) << token;
    for (const auto& piece : cut_into_pieces(tokens, {Protocol::windows, 5, true, segment, 0, false})) {
      EXPECT_LE(piece.count, segment > 0 ? segment : 4);
      EXPECT_EQ(piece.resets_base, piece.first % 5 == 0);
      EXPECT_EQ(piece.resets_fast, piece.first % 5 == 0);
    }
  }
}

TEST(Protocol, SlidingScoresEveryTokenOnceWithEnoughBeforeIt) {
  const auto tokens = sample("protocol_sliding");
  for (const int64_t stride : {1, 2, 3, 6}) {
    const auto scored = count(tokens, {Protocol::sliding, 6, true, 0, stride, false});
    for (size_t token = 1; token < scored.times.size(); ++token) {
      EXPECT_EQ(scored.times[token], 1) << stride;
      EXPECT_GE(scored.context[token], std::min<int64_t>(static_cast<int64_t>(token), 6 - stride)) << stride;
    }
  }
}

TEST(Protocol, LlamaScoresTheSecondHalfOfWholeWindows) {
  const auto scored = count(sample("protocol_llama"), {Protocol::llama, 8, true, 0, 0, false});
  for (size_t token = 0; token < scored.times.size(); ++token)  // tokens 5, 6, 7 of each window of 8
    EXPECT_EQ(scored.times[token], token < 16 && token % 8 > 4 ? 1 : 0) << token;
}

TEST(Protocol, NothingToScoreIsAClearLine) {
  const auto tokens = sample("protocol_nothing");
  EXPECT_NE(message_of([&] {
              cut_into_pieces(tokens, {Protocol::llama, 100, true, 0, 0, false});
            }).find("100 tokens"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              cut_into_pieces(tokens, {Protocol::sliding, 4, true, 0, 9, false});
            }).find("stride"),
            std::string::npos);
}

}  // namespace
}  // namespace fwl
