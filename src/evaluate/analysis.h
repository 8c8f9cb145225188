// Where one method beats another: the gain by position in the document, by training frequency and by repetition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluate/nll_series.h"

namespace fwl {

// Two methods' losses of the same tokens.
struct NllPair {
  std::vector<int64_t> targets, ids;
  std::vector<int64_t> stretches;  // which document, or window of one, each token was read in
  std::vector<float> before, after;
  std::string before_name, after_name, data_hash;
};

// A method is named by "file" (its last method) or "file:method".
std::string loss_file_of(const std::string& named);  // without the method
NllPair load_pair(const std::string& before, const std::string& after);

// A group of tokens, with the mean gain before - after in nats, and its standard error over blocks of tokens.
struct GainGroup {
  std::string name;
  int64_t tokens = 0;
  double before = 0, after = 0, gain = 0, standard_error = 0;
};

std::vector<GainGroup> gain_by_position(const NllPair& pair);    // in its document or window, in powers of two
std::vector<GainGroup> gain_by_repetition(const NllPair& pair);  // by how often the token occurred before in it
// `counts`: how often each id occurs in the training data.
std::vector<GainGroup> gain_by_frequency(const NllPair& pair, const std::vector<int64_t>& counts);
std::vector<int64_t> count_ids(const std::string& token_path);

// Positions of the tokens that gained most, and of those that lost most.
struct Extremes {
  std::vector<size_t> gains, losses;
};
Extremes extremes(const NllPair& pair, size_t count);

}  // namespace fwl
