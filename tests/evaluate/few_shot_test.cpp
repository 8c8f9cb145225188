// Few-shot learning: questions are scored as if read alone, leave no trace, and the search finds the most likely
// choice.
#include "evaluate/few_shot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/base_samples.h"
#include "blocks/block_config.h"
#include "engine/torch.h"
#include "evaluate/answers.h"
#include "support/message_of.h"
#include "weights/weight_source.h"

namespace fwl {
namespace {

LanguageModel with_blocks(const std::shared_ptr<BaseModel>& base) {
  BlockConfig config;
  config.at = "all";
  config.rank = 5;
  config.chunk_tokens = 4;
  config.step = 4;
  config.warmup_chunks = 1;
  FreshWeights fresh(7, base->options());
  return {base, nullptr, nullptr, config.make(base->blocks(), base->hidden_size(), fresh)};
}

TokenIds random_tokens(int64_t count) {
  TokenIds ids;
  for (int64_t index = 0; index < count; ++index)
    ids.push_back(static_cast<TokenId>(at::randint(sample_vocabulary, {1}).item<int64_t>()));
  return ids;
}

Question random_question(int64_t choices) {
  Question question{random_tokens(7), {}};
  for (int64_t choice = 0; choice < choices; ++choice) {
    auto tokens = random_tokens(1 + choice % 3);
    if (choice % 2 == 1) tokens.insert(tokens.begin(), question.choices.back().begin(), question.choices.back().end());
    question.choices.push_back(tokens);
  }
  return question;
}

std::vector<Example> random_examples(int64_t count) {
  std::vector<Example> examples;
  for (int64_t index = 0; index < count; ++index) examples.push_back({random_tokens(3), random_tokens(2)});
  return examples;
}

FewShot make(const LanguageModel& model, const std::vector<Example>& examples, const std::string& place) {
  FewShotOptions options;
  options.examples_in = place;
  return {model, examples, options, 0};
}

// The loss of a choice after a text, read at once by a session of its own.
double nll_alone(const LanguageModel& model, TokenIds text, const TokenIds& choice) {
  const at::NoGradGuard no_grad;
  text.insert(text.end(), choice.begin(), choice.end());
  auto session = model.new_session();
  const auto losses = model.read(at::tensor(text).to(at::kLong).unsqueeze(0), session, {Adaptation::off}).adapted;
  return losses.slice(1, losses.size(1) - static_cast<int64_t>(choice.size())).sum().item<double>();
}

TEST(FewShot, QuestionsAreScoredAsIfReadAloneAndLeaveNoTrace) {
  at::manual_seed(3);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    const LanguageModel model(base, nullptr);
    const auto examples = random_examples(2);
    TokenIds context;
    for (const auto& [prompt, answer] : examples)
      for (const auto* part : {&prompt, &answer}) context.insert(context.end(), part->begin(), part->end());
    for (const std::string place : {"none", "context"}) {
      auto few_shot = make(model, examples, place);
      const auto question = random_question(5);
      auto text = place == "none" ? TokenIds() : context;
      text.insert(text.end(), question.prompt.begin(), question.prompt.end());
      const auto nll = few_shot.nll(question);
      for (size_t choice = 0; choice < nll.size(); ++choice)
        EXPECT_NEAR(nll[choice], nll_alone(model, text, question.choices[choice]), 1e-8) << name << ' ' << place;
      (void)few_shot.nll(random_question(3));
      const auto again = few_shot.nll(question);
      for (size_t choice = 0; choice < nll.size(); ++choice) EXPECT_NEAR(again[choice], nll[choice], 1e-10) << name;
    }
  }
}

TEST(FewShot, TheSearchFindsTheMostLikelyChoice) {
  at::manual_seed(4);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    const auto model = with_blocks(base);
    auto few_shot = make(model, random_examples(3), "both");
    for (int round = 0; round < 5; ++round) {
      const auto question = random_question(9);
      const auto nll = few_shot.nll(question);
      EXPECT_NEAR(nll[few_shot.most_likely(question)], *std::ranges::min_element(nll), 1e-9) << name;
    }
  }
}

TEST(FewShot, ExamplesInTheWeightsMakeTheirAnswersMoreLikely) {
  at::manual_seed(5);
  for (const auto& [name, base] : sample_bases(at::kDouble)) {
    const auto model = with_blocks(base);
    const auto examples = random_examples(1);
    const Question question{examples[0].prompt, {examples[0].answer}};
    for (const std::string learn_from : {"all", "answers"})
      for (const bool is_apart : {false, true}) {
        FewShotOptions options{{}, "weights", 8, learn_from, is_apart};
        FewShot learned(model, examples, options, 0);
        EXPECT_LT(learned.nll(question)[0], make(model, examples, "none").nll(question)[0]) << name;
      }
  }
}

TEST(FewShot, TheContextHoldsTheLastExamplesThatFit) {
  const auto base = sample_bases(at::kDouble).front().model;
  const LanguageModel model(base, nullptr);
  const int64_t limit = base->context_tokens();
  if (limit == 0) GTEST_SKIP();
  const auto examples = random_examples(limit);  // five tokens each
  EXPECT_EQ(FewShot(model, examples, {{}, "context"}, 10).examples_in_context(), (limit - 10) / 5);
}

TEST(FewShot, WrongPlacesAndEmptyQuestionsAreNamed) {
  const LanguageModel model(sample_bases(at::kDouble).front().model, nullptr);
  const auto error = [&](const std::string& place) {
    return message_of([&] { make(model, random_examples(1), place); });
  };
  EXPECT_NE(error("mind").find("expected none, context, weights or both, got 'mind'"), std::string::npos);
  EXPECT_NE(error("weights").find("expected a model with fast weights, got one without"), std::string::npos);
  auto few_shot = make(model, {}, "none");
  EXPECT_NE(message_of([&] { few_shot.nll({{}, {{1}}}); }).find("a prompt of at least one token"), std::string::npos);
  EXPECT_NE(message_of([&] { few_shot.most_likely({{1}, {{}}}); }).find("an empty one"), std::string::npos);
}

TEST(Answers, IntervalsAreThoseOfTheTextbook) {
  Answers a, b;
  for (int index = 0; index < 10; ++index) {
    a.is_right.push_back(index < 5);
    b.is_right.push_back(index < 7);
  }
  EXPECT_NEAR(share_interval(a).low, 0.2366, 1e-4);
  EXPECT_NEAR(share_interval(a).high, 0.7634, 1e-4);
  EXPECT_NEAR(difference_interval(a, b).low, 0.2 - 1.96 * 0.13333, 1e-4);
  EXPECT_NEAR(difference_interval(a, b).high, 0.2 + 1.96 * 0.13333, 1e-4);
}

}  // namespace
}  // namespace fwl
