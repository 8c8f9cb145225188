// How fast a model reads, generates and learns: a few repetitions of each, by method.
#pragma once

#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "model/cost.h"
#include "support/progress.h"

namespace fwl {

struct BenchOptions {
  int64_t prompt_tokens = 512;    // pp: scored in one piece; 0: not measured
  int64_t generated_tokens = 64;  // tg: one after the other; 0: not measured
  int64_t training_tokens = 0;    // train: one step on so many tokens; 0: not measured
  int64_t repetitions = 3;
  std::vector<MethodOptions> methods;
};

struct BenchResult {
  std::string test;  // "pp512", "tg64", "train512"
  std::string method;
  std::vector<double> per_second;  // tokens per second of each repetition
  double flops_per_token = 0;

  double mean() const;
  double deviation() const;
};

// Reads random tokens; the repetitions of a test take turns over the methods, after one round that is not counted.
std::vector<BenchResult> run_bench(const LanguageModel& model, const BenchOptions& options,
                                   const ProgressReport& progress);

}  // namespace fwl
