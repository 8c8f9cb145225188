// Chooses the next token from logits: greedy, or at random by temperature, top-k, top-p, min-p and repeat penalty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/session.h"
#include "support/fields.h"

namespace fwl {

// The steps act in this order, as in llama.cpp: penalty, top-k, top-p, min-p, temperature.
struct SamplerOptions {
  double temperature = 0.8;   // 0: always the likeliest token
  int64_t top_k = 40;         // 0: all
  double top_p = 0.95;        // 1: all
  double min_p = 0.05;        // relative to the likeliest; 0: all
  double repeat_penalty = 1;  // 1: none
  int64_t repeat_last = 64;   // tokens that it looks back
};

void add_fields(Fields& fields, SamplerOptions& options);

// A number in [0, 1) from the seed and the number of draws before it alone: nothing else has to be remembered.
double uniform_draw(int64_t seed, int64_t draws);

// How many of the last tokens a session keeps for the penalty and for joining texts.
inline constexpr size_t recent_tokens = 256;

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}

  struct Candidate {
    int64_t token;
    double logit, probability;
  };
  // What is left to choose from, likeliest first, with probabilities that sum to 1.
  std::vector<Candidate> candidates(std::span<const float> logits, std::span<const int64_t> recent) const;

  // Greedy choices draw no number.
  int64_t choose(std::span<const float> logits, SamplerState& state) const;

 private:
  std::vector<float> penalized(std::span<const float> logits, std::span<const int64_t> recent) const;

  SamplerOptions options_;
};

}  // namespace fwl
