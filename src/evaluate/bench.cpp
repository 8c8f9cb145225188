#include "evaluate/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "engine/device.h"
#include "engine/torch.h"
#include "model/token_stepper.h"
#include "model/token_tensor.h"
#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

// One method's model, with what it has read so far.
class Bencher {
 public:
  Bencher(const LanguageModel& given, const MethodOptions& method)
      : method_(method),
        model_(model_for(given, method)),
        options_{method.adapts() ? Adaptation::write : Adaptation::off} {}

  double score(int64_t tokens) {
    const auto words = text(tokens);
    const at::AutoGradMode mode(method_.is_dynamic());
    std::optional<DynamicEvaluation> dynamic;
    if (method_.is_dynamic()) dynamic.emplace(model_, method_.dynamic, statistics());
    // Reuse the session when the model allows it, so that start-up cost is not part of the measurement.
    if (!session_ || model_.base().context_tokens() > 0) session_ = model_.new_session();
    return seconds_on(model_.device(), [&] {
      const auto losses = model_.read(words, *session_, options_).adapted;
      if (dynamic) dynamic->learn(losses.mean());
    });
  }

  double generate(int64_t tokens) {
    const at::NoGradGuard no_grad;
    auto session = model_.new_session();
    model_.read(text(8), session, options_);
    return seconds_on(model_.device(), [&] {
      TokenStepper stepper(model_, session, options_.adaptation);
      for (int64_t index = 0; index < tokens; ++index) stepper.read(stepper.next_logits().argmax().item<int64_t>());
      stepper.finish();
    });
  }

  double train(int64_t tokens) {
    const at::AutoGradMode mode(true);
    const auto parameters = model_.parameters();
    for (const auto& [name, tensor] : parameters) tensor.requires_grad_();
    const auto words = text(tokens);
    const double seconds = seconds_on(model_.device(), [&] {
      auto session = model_.new_session();
      model_.read(words, session, options_).adapted.mean().backward();
    });
    for (const auto& [name, tensor] : parameters) {
      tensor.mutable_grad().reset();
      tensor.requires_grad_(false);
    }
    return seconds;
  }

  const MethodOptions& method() const { return method_; }
  const LanguageModel& model() const { return model_; }

 private:
  // Speed does not depend on the values of the statistics.
  std::vector<at::Tensor> statistics() const {
    std::vector<at::Tensor> squares;
    if (method_.dynamic.is_rms)
      for (const auto& [name, tensor] : model_.parameters()) squares.push_back(at::ones_like(tensor));
    return squares;
  }

  at::Tensor text(int64_t tokens) const { return zipf_tokens(1, tokens, model_.base().vocabulary_size()); }

  MethodOptions method_;
  LanguageModel model_;
  ReadOptions options_;
  std::optional<Session> session_;
};

struct Test {
  std::string name;
  int64_t tokens;
  std::function<double(Bencher&, int64_t)> run;
  std::function<bool(const MethodOptions&)> suits;
};

double flops_of(const Bencher& bencher, const Test& test) {
  const auto& method = bencher.method();
  const auto cost = total(costs(bencher.model(), {test.tokens, method.adapts()}));
  if (test.name == "train" || method.is_dynamic()) return cost.training_flops;
  return method.adapts() ? cost.adapting_flops : cost.scoring_flops;
}

}  // namespace

double BenchResult::mean() const {
  double sum = 0;
  for (const double value : per_second) sum += value;
  return sum / static_cast<double>(per_second.size());
}

double BenchResult::deviation() const {
  double squares = 0;
  for (const double value : per_second) squares += (value - mean()) * (value - mean());
  return per_second.size() > 1 ? std::sqrt(squares / static_cast<double>(per_second.size() - 1)) : 0;
}

std::vector<BenchResult> run_bench(const LanguageModel& model, const BenchOptions& options,
                                   const ProgressReport& progress) {
  const bool needs_gradients =
      options.training_tokens > 0 || std::ranges::any_of(options.methods, &MethodOptions::is_dynamic);
  if (needs_gradients && model.base().has_quantized_weights())
    fail("training and dynamic evaluation", "dense weights", "quantised ones", "--weights fp32 dequantises them");
  const auto any = [](const MethodOptions&) { return true; };
  const auto plain = [](const MethodOptions& method) { return !method.is_dynamic(); };
  const auto score = [](Bencher& bencher, int64_t tokens) {
    const at::AutoGradMode mode(bencher.method().is_dynamic());
    return bencher.score(tokens);
  };
  const std::vector<Test> tests = {
      {"pp", options.prompt_tokens, score, any},
      {"tg", options.generated_tokens, [](Bencher& b, int64_t tokens) { return b.generate(tokens); }, plain},
      {"train", options.training_tokens, [](Bencher& b, int64_t tokens) { return b.train(tokens); }, plain}};
  std::vector<BenchResult> results;
  int64_t done = 0;
  const auto rounds = options.repetitions + 1;
  const auto all = rounds * static_cast<int64_t>(options.methods.size() * tests.size());
  for (const auto& test : tests) {
    std::vector<BenchResult> of_test;
    std::vector<Bencher> benchers;
    for (const auto& method : options.methods) {
      benchers.emplace_back(model, method);
      of_test.push_back(
          {fmt::format("{}{}", test.name, test.tokens), method.name, {}, flops_of(benchers.back(), test)});
    }
    for (int64_t round = 0; round < rounds; ++round)
      for (size_t index = 0; index < of_test.size(); ++index) {
        if (progress) progress({++done, all, "tests", of_test[index].test});
        if (test.tokens == 0 || !test.suits(options.methods[index])) continue;
        const double seconds = test.run(benchers[index], test.tokens);
        if (round > 0) of_test[index].per_second.push_back(static_cast<double>(test.tokens) / seconds);
        throw_if_interrupted();
      }
    for (auto& result : of_test)
      if (!result.per_second.empty()) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace fwl
