// Per-token losses of a text under one method, and their statistics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// Neighbouring losses are correlated, so standard errors are computed over blocks of this many tokens.
inline constexpr int64_t error_block_tokens = 256;

struct NllSeries {
  std::string method;
  std::vector<int64_t> targets;  // positions of the scored tokens in the text, ascending
  std::vector<float> nll;        // of each target, in nats
  double seconds = 0;            // 0: not measured
  double peak_bytes = 0;         // peak memory of the process during the run; 0: not measured
  int64_t rollbacks = 0;         // of fast weights that had diverged (model/divergence_guard.h)
};

struct Summary {
  int64_t tokens = 0;
  double mean = 0, standard_error = 0;  // nats per token
  double perplexity = 0, perplexity_error = 0;
  double word_perplexity = 0, bits_per_byte = 0;  // 0: the text's bytes and words are unknown
  int64_t documents = 0;
  double macro_perplexity = 0;  // of the mean of the documents' means
};
Summary summarize(const NllSeries& series, const TokenView& tokens);

// The mean difference b - a of two methods on the same tokens, with a 95 % interval.
struct PairedDifference {
  double mean = 0, low = 0, high = 0;  // nats per token
  double perplexity_ratio = 1;         // of b over a
};
PairedDifference compare(const NllSeries& a, const NllSeries& b);
// The same from what results keep of the losses: the mean over all tokens, and those over blocks of neighbouring ones.
PairedDifference compare(double mean_a, const std::vector<double>& blocks_a, double mean_b,
                         const std::vector<double>& blocks_b);
// Over error_block_tokens each; what is left at the end counts only if it is all there is.
std::vector<double> block_means(const NllSeries& series);

// A safetensors file with "nll", "targets" and the token ids, that names model, method and data.
struct NllFileFacts {
  std::string model, data_hash;
  std::string result;  // JSON of the statistics by method, in the order of the methods
};
void save_nll(const std::string& path, const std::vector<NllSeries>& series, const TokenView& tokens,
              const NllFileFacts& facts);

}  // namespace fwl
