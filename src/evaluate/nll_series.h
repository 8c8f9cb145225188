// The losses of a text's tokens under one method, and what they add up to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// Neighbouring losses are not independent: errors of means are taken over blocks of so many tokens.
inline constexpr int64_t error_block_tokens = 256;

struct NllSeries {
  std::string method;
  std::vector<int64_t> targets;  // places of the scored tokens in the text, rising
  std::vector<float> nll;        // beside them, in nats
  double seconds = 0;
  double peak_bytes = 0;  // of the whole process, while it ran
};

struct Summary {
  int64_t tokens = 0;
  double mean = 0, standard_error = 0;  // nats per token
  double perplexity = 0, perplexity_error = 0;
  double word_perplexity = 0, bits_per_byte = 0;  // 0: the text's bytes and words are not known
  int64_t documents = 0;
  double macro_perplexity = 0;  // of the mean of the documents' means
};
Summary summarize(const NllSeries& series, const TokenView& tokens);

// Of two methods on the same tokens: the mean difference b - a, with a 95 % interval.
struct PairedDifference {
  double mean = 0, low = 0, high = 0;  // nats per token
  double perplexity_ratio = 1;         // of b over a
};
PairedDifference compare(const NllSeries& a, const NllSeries& b);

// A safetensors file with "nll", "targets" and the token ids, that names model, method and data.
struct NllFileFacts {
  std::string model, data_hash;
  std::string result;  // JSON of what the losses add up to, by method, in the order of the methods
};
void save_nll(const std::string& path, const std::vector<NllSeries>& series, const TokenView& tokens,
              const NllFileFacts& facts);

}  // namespace fwl
