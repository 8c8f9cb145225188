// Scores a text with a language model: one method, one protocol, one series of losses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "blocks/block_config.h"
#include "evaluate/dynamic.h"
#include "evaluate/nll_series.h"
#include "evaluate/protocol.h"
#include "model/language_model.h"
#include "support/progress.h"

namespace fwl {

struct MethodOptions {
  std::string name = "static";  // static, fwl, blocks, test-time, bias-only, dynamic-sgd, dynamic-rms
  double step = 0;              // test-time: of all six weights; bias-only on a model that was not trained so
  DynamicOptions dynamic;
  BlockConfig blocks = {};  // blocks: of a model that has none of its own; at none: in all blocks

  bool adapts() const { return name != "static" && !is_dynamic(); }
  bool is_dynamic() const { return name.starts_with("dynamic"); }
};

const std::vector<std::string>& method_names();

// The model that a method scores with: the same weights, with the memory that the method needs.
LanguageModel model_for(const LanguageModel& model, const MethodOptions& method);

// Reports the perplexity so far to `progress` after every piece.
NllSeries evaluate(const LanguageModel& model, const TokenView& tokens, const std::vector<Piece>& pieces,
                   const MethodOptions& method, const std::vector<at::Tensor>& mean_squares,
                   const ProgressReport& progress);

// Scores without fast weights and with those of `method` (fwl or blocks), piece by piece, in one pass of the base where
// the base stays as it is. Time and memory belong to neither, so the series have none.
using TogetherReport = std::function<void(const std::vector<NllSeries>& so_far)>;  // after every piece
std::vector<NllSeries> evaluate_together(const LanguageModel& model, const TokenView& tokens,
                                         const std::vector<Piece>& pieces, const MethodOptions& method,
                                         const TogetherReport& report);

// Gradient statistics for dynamic-rms, over the first `segments` pieces of training data.
std::vector<at::Tensor> gradient_statistics(const LanguageModel& model, const TokenView& tokens,
                                            const std::vector<Piece>& pieces, int64_t segments,
                                            const ProgressReport& progress);

}  // namespace fwl
