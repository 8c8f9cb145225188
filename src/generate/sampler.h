// Samples the next token from logits: greedily, or by temperature, top-k, top-p, min-p and repeat penalty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/session.h"
#include "support/fields.h"

namespace fwl {

// Applied in llama.cpp's order: penalty, top-k, top-p, min-p, temperature.
struct SamplerOptions {
  double temperature = 0.8;   // 0: always the most likely token
  int64_t top_k = 40;         // 0: all
  double top_p = 0.95;        // 1: all
  double min_p = 0.05;        // relative to the highest probability; 0: all
  double repeat_penalty = 1;  // 1: none
  int64_t repeat_last = 64;   // the last tokens, to which the penalty applies
};

void add_fields(Fields& fields, SamplerOptions& options);

// A random number in [0, 1), a function of the seed and the number of earlier draws.
double uniform_draw(int64_t seed, int64_t draws);

// Tokens that a session keeps for the repeat penalty and for decoding across calls.
inline constexpr size_t recent_tokens = 256;

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}

  struct Candidate {
    int64_t token;
    double logit, probability;
  };
  // The tokens to sample from, most likely first, with probabilities that sum to 1.
  std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int64_t> recent) const;

  // Greedy sampling draws no random number.
  int64_t choose(std::span<const float> logits, SamplerState& state) const;

 private:
  std::vector<float> penalized(std::span<const float> logits, std::span<const int64_t> recent) const;

  SamplerOptions options_;
};

}  // namespace fwl
