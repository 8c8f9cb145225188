// Counts the parameters and floating-point operations per token of a language model, by part.
#pragma once

#include <string>
#include <vector>

#include "model/language_model.h"

namespace fwl {

struct PartCost {
  std::string part;  // embedding, base, attention, memory, blocks, head
  int64_t parameters = 0;
  double scoring_flops = 0;   // per token, static
  double adapting_flops = 0;  // per token, with the fast weights
  double training_flops = 0;  // per token, for the objective
};

struct CostQuestion {
  int64_t segment_tokens = 0;  // T
  bool adapts = true;          // the objective uses the fast weights
};

// Counts only matrix products; everything else is small in comparison.
std::vector<PartCost> costs(const LanguageModel& model, const CostQuestion& question);
PartCost total(const std::vector<PartCost>& parts);

}  // namespace fwl
