// Scores a text with a language model: one method, one protocol, one series of losses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluate/dynamic.h"
#include "evaluate/nll_series.h"
#include "evaluate/protocol.h"
#include "model/language_model.h"
#include "support/progress.h"

namespace fwl {

struct MethodOptions {
  std::string name = "static";  // static, fwl, test-time, bias-only, dynamic-sgd, dynamic-rms
  double step = 0;              // test-time: of all six weights; bias-only on a model that was not trained so
  DynamicOptions dynamic;

  bool adapts() const { return name == "fwl" || name == "test-time" || name == "bias-only"; }
  bool is_dynamic() const { return name.starts_with("dynamic"); }
};

const std::vector<std::string>& method_names();

// The model that a method scores with: the same weights, under an adapter that suits it.
LanguageModel model_for(const LanguageModel& model, const MethodOptions& method);

// `progress` is told the perplexity so far after every piece.
NllSeries evaluate(const LanguageModel& model, const TokenView& tokens, const std::vector<Piece>& pieces,
                   const MethodOptions& method, const std::vector<at::Tensor>& mean_squares,
                   const ProgressReport& progress);

// Static and with fast weights in one reading, so that both can be watched; their time is that of the one reading.
using TogetherReport = std::function<void(const std::vector<NllSeries>& so_far)>;  // after every piece
std::vector<NllSeries> evaluate_together(const LanguageModel& model, const TokenView& tokens,
                                         const std::vector<Piece>& pieces, const TogetherReport& report);

// For dynamic-rms: over the first `segments` pieces of training data.
std::vector<at::Tensor> gradient_statistics(const LanguageModel& model, const TokenView& tokens,
                                            const std::vector<Piece>& pieces, int64_t segments,
                                            const ProgressReport& progress);

}  // namespace fwl
