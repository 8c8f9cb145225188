#include "evaluate/few_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "engine/torch.h"
#include "model/divergence_guard.h"
#include "model/token_stepper.h"
#include "support/error.h"
#include "support/fields.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

constexpr int64_t undo_tokens = 256;  // a longer prompt is read on a copy of the session

at::Tensor tensor_of(std::span<const TokenId> tokens) {
  const auto ids =
      at::from_blob(const_cast<TokenId*>(tokens.data()), {1, static_cast<int64_t>(tokens.size())}, at::kInt);
  return ids.to(at::kLong);  // 1,T
}

void append(TokenIds& text, const TokenIds& more) {
  text.insert(text.end(), more.begin(), more.end());
}

// A text of examples, and whether each token's loss moves the fast weights.
struct Lesson {
  TokenIds tokens;
  std::vector<float> weights;

  explicit Lesson(const TokenIds& begin) : tokens(begin), weights(begin.size()) {}
  void add(const Example& example, bool learns_prompts) {
    append(tokens, example.prompt);
    append(tokens, example.answer);
    weights.resize(weights.size() + example.prompt.size(), learns_prompts ? 1.0F : 0.0F);
    weights.resize(tokens.size(), 1.0F);
  }
};

std::vector<Lesson> lessons_of(const std::vector<Example>& examples, const FewShotOptions& options) {
  std::vector<Lesson> lessons;
  for (const auto& example : examples) {
    if (lessons.empty() || options.is_apart) lessons.emplace_back(options.begin);
    lessons.back().add(example, options.learn_from == "all");
  }
  return lessons;
}

ContextOptions restarting_context(const BaseModel& base, int64_t tokens) {
  auto context = base.default_context();
  if (tokens > 0) context.context_tokens = tokens;
  if (context.context_tokens > 0 && context.long_text == LongText::refuse) context.long_text = LongText::restart;
  return context;
}

void expect_tokens(const Question& question) {
  if (question.prompt.empty()) fail("question", "a prompt of at least one token", "none");
  if (question.choices.empty()) fail("question", "at least one choice", "none");
  for (const auto& choice : question.choices)
    if (choice.empty()) fail("question", "choices of at least one token", "an empty one");
}

// Choices that begin alike, up to a length.
struct Beginning {
  double nll;
  size_t length;
  std::vector<size_t> choices;
  bool operator<(const Beginning& other) const { return nll > other.nll; }  // the queue's top is the most likely
};

}  // namespace

void add_fields(Fields& fields, FewShotOptions& options) {
  fields
      .add("passes", options.passes,
           "how often the examples are read into the weights; 0: those stay as they were trained")
      .range(0, 1000);
  fields.add("learn_from", options.learn_from, "tokens of an example whose loss moves the fast weights")
      .choices({"all", "answers"});
  fields.add("apart", options.is_apart, "into the weights each example is read alone, without those before it");
  fields.add("context", options.context_tokens, "context length in tokens; 0: the model's own")
      .range(0, 1 << 24)
      .short_name("c")
      .alias("ctx_size");
}

FewShot::FewShot(const LanguageModel& model, const std::vector<Example>& examples, const FewShotOptions& options,
                 int64_t reserved_tokens)
    : model_(model),
      begin_(options.begin),
      session_(model.new_session(1, restarting_context(model.base(), options.context_tokens))),
      adaptation_(Adaptation::off) {
  const at::NoGradGuard no_grad;
  const bool in_weights = options.examples_in == "weights" || options.examples_in == "both";
  const bool in_context = options.examples_in == "context" || options.examples_in == "both";
  if (!in_weights && !in_context && options.examples_in != "none")
    fail("examples in", "none, context, weights or both", "'" + options.examples_in + "'");
  if (in_weights && !model.memory() && !model.blocks())
    fail("examples in " + options.examples_in, "a model with fast weights", "one without",
         "name an --adapter, or --blocks.at all");
  if (in_weights) {
    learn(examples, options);
    adaptation_ = Adaptation::read;
  }
  session_.base.undo_tokens = undo_tokens;
  if (in_context) fill_context(examples, reserved_tokens);
}

void FewShot::learn(const std::vector<Example>& examples, const FewShotOptions& options) {
  const auto lessons = lessons_of(examples, options);
  DivergenceGuard guard(model_, session_);
  for (int64_t pass = 0; pass < options.passes; ++pass)
    for (const auto& lesson : lessons) {
      throw_if_interrupted();
      const auto text = tensor_of(lesson.tokens);  // 1,T
      const auto last = text.size(1) - 1;
      if (last == 0) continue;
      const auto weights = at::tensor(lesson.weights).unsqueeze(0).slice(1, 1).to(model_.base().options());  // 1,T-1
      const auto losses =
          model_.read_targets(text.narrow(1, 0, last), text.slice(1, 1), session_, {}, 0, weights).adapted;
      model_.forget_context(session_);
      if (guard.check(losses.sum(at::kDouble).item<double>(), weights.count_nonzero().item<int64_t>())) ++rollbacks_;
    }
}

void FewShot::fill_context(const std::vector<Example>& examples, int64_t reserved_tokens) {
  const int64_t limit = session_.base.context.context_tokens;
  int64_t tokens = reserved_tokens + static_cast<int64_t>(begin_.size());
  auto first = examples.end();
  while (first != examples.begin()) {
    const auto& example = *std::prev(first);
    tokens += static_cast<int64_t>(example.prompt.size() + example.answer.size());
    if (limit > 0 && tokens > limit) break;
    --first;
  }
  examples_in_context_ = examples.end() - first;
  if (first == examples.end()) return;
  auto text = begin_;
  for (; first != examples.end(); ++first) {
    append(text, first->prompt);
    append(text, first->answer);
  }
  advance(model_, tensor_of(text), session_, adaptation_);
}

void FewShot::with(std::span<const TokenId> tokens, const Use& use) {
  const auto count = static_cast<int64_t>(tokens.size());
  auto& base = session_.base;
  if (count > base.undo_tokens || count > model_.base().window_room(base)) {
    auto kept = session_.clone();
    use(advance(model_, tensor_of(tokens), session_, adaptation_));
    session_ = std::move(kept);
    return;
  }
  const auto last_hidden = session_.last_hidden;
  const auto blocks = session_.blocks;  // reading does not move what it shares
  use(advance(model_, tensor_of(tokens), session_, adaptation_));
  model_.base().rewind(base, count);
  session_.last_hidden = last_hidden;
  session_.blocks = blocks;
}

void FewShot::with_prompt(const TokenIds& prompt, const std::function<void()>& use) {
  auto text = session_.tokens_read() == 0 ? begin_ : TokenIds();
  append(text, prompt);
  with(text, [&](const at::Tensor&) { use(); });
}

at::Tensor FewShot::log_likelihoods(const at::Tensor& last_hidden) const {
  return logits_of(model_, last_hidden.unsqueeze(0), session_, adaptation_)[0].to(at::kDouble).log_softmax(0);
}

std::vector<double> FewShot::nll(const Question& question) {
  expect_tokens(question);
  const at::NoGradGuard no_grad;
  std::vector<double> result;
  with_prompt(question.prompt, [&] {
    const auto first = log_likelihoods(session_.last_hidden);  // V
    for (const auto& choice : question.choices) {
      throw_if_interrupted();
      double nll = -first[choice.front()].item<double>();
      if (choice.size() > 1)
        with(std::span(choice).first(choice.size() - 1), [&](const at::Tensor& hidden) {
          const auto targets = tensor_of(std::span(choice).subspan(1)).to(model_.device());
          nll += model_.score(hidden, targets, session_, {adaptation_}).adapted.sum(at::kDouble).item<double>();
        });
      result.push_back(nll);
    }
  });
  return result;
}

size_t FewShot::most_likely(const Question& question) {
  expect_tokens(question);
  const at::NoGradGuard no_grad;
  std::priority_queue<Beginning> queue;
  // Longer beginnings of the same choices; one that is a whole choice stands for itself.
  const auto continue_with = [&](const Beginning& beginning, const at::Tensor& log_likelihoods) {
    std::map<TokenId, std::vector<size_t>> by_token;
    for (const size_t choice : beginning.choices) {
      const auto& tokens = question.choices[choice];
      if (tokens.size() > beginning.length) by_token[tokens[beginning.length]].push_back(choice);
    }
    for (auto& [token, choices] : by_token) {
      const double nll = beginning.nll - log_likelihoods[token].item<double>();
      for (const size_t choice : choices)
        if (question.choices[choice].size() == beginning.length + 1) queue.push({nll, 0, {choice}});
      queue.push({nll, beginning.length + 1, std::move(choices)});
    }
  };
  size_t best = 0;
  with_prompt(question.prompt, [&] {
    std::vector<size_t> all(question.choices.size());
    for (size_t index = 0; index < all.size(); ++index) all[index] = index;
    continue_with({0, 0, all}, log_likelihoods(session_.last_hidden));
    while (queue.top().length > 0) {  // 0: a whole choice
      throw_if_interrupted();
      const auto beginning = queue.top();
      queue.pop();
      const auto& tokens = question.choices[beginning.choices.front()];
      const bool goes_on = std::ranges::any_of(
          beginning.choices, [&](size_t choice) { return question.choices[choice].size() > beginning.length; });
      if (!goes_on) continue;
      with(std::span(tokens).first(beginning.length),
           [&](const at::Tensor&) { continue_with(beginning, log_likelihoods(session_.last_hidden)); });
    }
    best = queue.top().choices.front();
  });
  return best;
}

}  // namespace fwl
