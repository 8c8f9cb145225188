#include "evaluate/evaluation.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "engine/device.h"
#include "engine/torch.h"
#include "memory/bias_memory.h"
#include "model/divergence_guard.h"
#include "model/token_tensor.h"
#include "support/discardable.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/measure.h"

namespace fwl {
namespace {

// Reads pieces in order and returns their losses.
class PieceReader {
 public:
  PieceReader(const LanguageModel& model, const TokenView& tokens, const ReadOptions& options)
      : model_(model), tokens_(tokens), options_(options), session_(model.new_session()) {
    guard_.emplace(model_, session_);
  }
  PieceReader(const PieceReader&) = delete;

  Losses read(const Piece& piece) {  // of its scored tokens
    if (piece.resets_base) model_.forget_context(session_);
    if (piece.resets_fast) {
      session_.fast = {};
      session_.blocks = {};
      guard_.emplace(model_, session_);
    }
    const auto ids = token_tensor(tokens_, piece.first, piece.count + 1);
    const int64_t first_scored = piece.first_scored - piece.first - 1;  // earlier tokens are only context
    const auto read = [&](const ReadOptions& options) {
      return model_.read_targets(ids.narrow(1, 0, piece.count), ids.narrow(1, 1, piece.count), session_, options,
                                 first_scored);
    };
    const auto losses = read(options_);
    session_.detach();
    if (options_.adaptation == Adaptation::write &&
        guard_->check(losses.adapted.sum(at::kDouble).item<double>(), losses.adapted.numel())) {
      ++rollbacks_;
      if (model_.blocks()) read({Adaptation::read});  // the context is gone
    }
    return losses;
  }

  int64_t rollbacks() const { return rollbacks_; }

 private:
  const LanguageModel& model_;
  const TokenView& tokens_;
  ReadOptions options_;
  Session session_;
  std::optional<DivergenceGuard> guard_;
  int64_t rollbacks_ = 0;
};

void append(NllSeries& series, const Piece& piece, const at::Tensor& losses) {
  const auto numbers = losses.detach().to(at::kCPU, at::kFloat).flatten().contiguous();
  const auto* values = numbers.const_data_ptr<float>();
  for (int64_t offset = 0; offset < numbers.numel(); ++offset) {
    series.targets.push_back(piece.first_scored + offset);
    series.nll.push_back(values[offset]);
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = {"static",    "fwl",         "blocks",     "test-time",
                                                 "bias-only", "dynamic-sgd", "dynamic-rms"};
  return names;
}

LanguageModel model_for(const LanguageModel& model, const MethodOptions& method) {
  auto memory = model.memory();
  auto blocks = model.blocks();
  const auto checked_step = [&] {
    if (!(method.step > 0)) fail(method.name, "a step size (--step)", fmt::format("{}", method.step));
    return method.step;
  };
  if (method.name == "blocks") {
    auto config = method.blocks;
    if (!config.is_present()) config.at = "all";
    if (!blocks) blocks = config.untrained(model.base());
    return LanguageModel(model.shared_base(), nullptr, nullptr, std::move(blocks));
  }
  if (method.name == "fwl" && !blocks) blocks = method.blocks.untrained(model.base());
  if (method.name == "fwl" && !memory && !blocks)
    fail("method fwl", "a model with fast weights", "one without", "train one, or name an --adapter");
  if (method.name == "test-time") {
    if (!memory) fail("method test-time", "a model with a layer", "one without");
    memory = memory->with_step_size(checked_step());
  }
  if (method.name == "bias-only" && !(memory && memory->moves_head()))
    memory = std::make_shared<BiasMemory>(
        memory, at::full({}, std::log(checked_step()), model.base().options().dtype(at::kFloat)));
  return LanguageModel(model.shared_base(), std::move(memory), nullptr, method.name == "fwl" ? blocks : nullptr);
}

NllSeries evaluate(const LanguageModel& given, const TokenView& tokens, const std::vector<Piece>& pieces,
                   const MethodOptions& method, const std::vector<at::Tensor>& mean_squares,
                   const ProgressReport& progress) {
  const auto model = model_for(given, method);
  std::optional<DynamicEvaluation> dynamic;
  if (method.is_dynamic()) dynamic.emplace(model, method.dynamic, mean_squares);
  const at::AutoGradMode mode(method.is_dynamic());
  const DiscardableWork whole_evaluation;
  PieceReader reader(model, tokens, {method.adapts() ? Adaptation::write : Adaptation::off, 0, false});
  NllSeries series;
  series.method = method.name;
  reset_peak_memory();
  const auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (size_t index = 0; index < pieces.size(); ++index) {
    if (dynamic && method.dynamic.reset && pieces[index].resets_fast) dynamic->reset();
    const auto losses = reader.read(pieces[index]).adapted;
    append(series, pieces[index], losses);
    sum += losses.detach().sum(at::kDouble).item<double>();
    if (dynamic) dynamic->learn(losses.mean());
    const auto done = static_cast<int64_t>(series.nll.size());
    if (progress)
      progress({static_cast<int64_t>(index) + 1, static_cast<int64_t>(pieces.size()), "pieces",
                fmt::format("{:.4f}", std::exp(sum / static_cast<double>(done)))});
    throw_if_interrupted();
  }
  series.rollbacks = reader.rollbacks();
  wait_for(model.device());
  series.seconds = seconds_since(start);
  series.peak_bytes = peak_memory_bytes();
  return series;
}

std::vector<NllSeries> evaluate_together(const LanguageModel& given, const TokenView& tokens,
                                         const std::vector<Piece>& pieces, const MethodOptions& method,
                                         const TogetherReport& report) {
  const at::NoGradGuard no_grad;
  const DiscardableWork whole_evaluation;
  const auto adapting = model_for(given, method), plain = model_for(given, {"static", 0, {}});
  const bool changes_base = adapting.blocks() != nullptr;
  PieceReader adapting_reader(adapting, tokens, {Adaptation::write, 0, !changes_base});
  PieceReader plain_reader(plain, tokens, {Adaptation::off, 0, false});
  std::vector<NllSeries> both(2);
  both[0].method = "static";
  both[1].method = method.name;
  for (const auto& piece : pieces) {
    const auto losses = adapting_reader.read(piece);
    append(both[0], piece, changes_base ? plain_reader.read(piece).adapted : losses.slow);
    append(both[1], piece, losses.adapted);
    both[1].rollbacks = adapting_reader.rollbacks();
    report(both);
    throw_if_interrupted();
  }
  return both;
}

std::vector<at::Tensor> gradient_statistics(const LanguageModel& model, const TokenView& tokens,
                                            const std::vector<Piece>& pieces, int64_t segments,
                                            const ProgressReport& progress) {
  const DiscardableWork all_segments;
  PieceReader reader(model, tokens, {Adaptation::off, 0, false});
  const auto total = std::min(segments, static_cast<int64_t>(pieces.size()));
  int64_t index = 0;
  return mean_squared_gradients(model, [&]() -> at::Tensor {
    if (index == total) return {};
    throw_if_interrupted();
    if (progress) progress({index + 1, total, "segments", {}});
    return reader.read(pieces[static_cast<size_t>(index++)]).adapted.mean();
  });
}

}  // namespace fwl
