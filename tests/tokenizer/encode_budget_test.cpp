#include "tokenizer/encode_budget.h"

#include <gtest/gtest.h>

#include <csignal>

#include "support/interrupt.h"
#include "support/message_of.h"
#include "tokenizer/bpe_json.h"
#include "tokenizer/bpe_samples.h"
#include "tokenizer/bpe_tokenizer.h"

namespace fwl {
namespace {

BpeTokenizer open_hostile(const nlohmann::json& root) {
  return {"t", parse_tokenizer_json(std::string("t"), std::string_view(root.dump()))};
}

nlohmann::json with_pattern(const std::string& pattern) {
  auto root = sample_tokenizer_json();
  root["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}},
                             {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  return root;
}

double seconds_of_encoding(const BpeTokenizer& tokenizer, const std::string& text, std::string& message) {
  const auto start = std::clock();
  message = message_of([&] { (void)tokenizer.encode(text); });
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(EncodeBudget, APatternThatBacktracksAtEveryPositionIsStopped) {
  std::string message;
  const auto tokenizer = open_hostile(with_pattern("(a|aa|aaa){1,12}b|[^a]"));
  EXPECT_LT(seconds_of_encoding(tokenizer, std::string(100'000, 'a'), message), 20);
  EXPECT_TRUE(message.find("split pattern") != std::string::npos ||
              message.find("seconds for this text") != std::string::npos)
      << message;
}

TEST(EncodeBudget, LongAddedTokensThatNearlyMatchAreStopped) {
  auto root = sample_tokenizer_json();
  root["added_tokens"].push_back({{"id", 263}, {"content", std::string(100'000, 'a') + "b"}, {"special", false}});
  std::string message;
  EXPECT_LT(seconds_of_encoding(open_hostile(root), std::string(400'000, 'a'), message), 20);
  EXPECT_NE(message.find("seconds for this text"), std::string::npos) << message;
}

TEST(EncodeBudget, AnInterruptEndsEncoding) {
  const auto tokenizer = open_hostile(sample_tokenizer_json());
  const InterruptScope interrupts;
  std::raise(SIGINT);
  EXPECT_THROW((void)tokenizer.encode("the cat and the dog and the cat and the dog and the cat and the dog and so on"),
               Interrupted);
}

}  // namespace
}  // namespace fwl
