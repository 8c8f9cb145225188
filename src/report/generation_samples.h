// Samples of `fwl generate --json`: how much the texts repeat themselves.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

struct GenerationSamples {
  std::string path, model, adapt;
  int64_t samples = 0, tokens = 0;
  std::array<double, 4> distinct = {};                // means over the samples
  double repeated_4_grams = 0, repeated_4_error = 0;  // mean and its standard error
};

bool looks_like_samples(std::string_view text);  // its first line is one of fwl generate --json
GenerationSamples parse_samples(const std::string& where, std::string_view lines);

}  // namespace fwl
