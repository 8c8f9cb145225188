#include "head/vocabulary_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "support/error.h"

namespace fwl {

VocabularyConfig VocabularyConfig::plain(int64_t size, int64_t hidden_size, bool is_tied) {
  VocabularyConfig config;
  config.size = size;
  config.hidden_size = hidden_size;
  config.is_tied = is_tied;
  return config;
}

int64_t VocabularyConfig::first_token(int64_t cluster) const {
  if (cluster == 0) return 0;
  return cluster == clusters() ? size : cutoffs[static_cast<size_t>(cluster - 1)];
}

int64_t VocabularyConfig::cluster_size(int64_t cluster) const {
  int64_t result = embedding_size;
  for (int64_t index = 0; index < cluster; ++index) result /= divisor;
  return result;
}

double VocabularyConfig::share(int64_t cluster) const {
  return zipf_share(first_token(cluster), first_token(cluster + 1), size);
}

bool VocabularyConfig::has_tied_projection(int64_t cluster) const {
  return cluster < static_cast<int64_t>(tied_projections.size()) && tied_projections[static_cast<size_t>(cluster)];
}

void VocabularyConfig::check(const std::string& where) const {
  for (int64_t cluster = 0; cluster < clusters(); ++cluster) {
    if (tokens(cluster) < 1)
      fail(where + ": cutoffs", "rising numbers below the size of the vocabulary",
           fmt::format("{} for {} tokens", fmt::join(cutoffs, ", "), size));
    if (cluster_size(cluster) < 1)
      fail(where + ": divisor", "at least one number per token in every cluster",
           fmt::format("{} with {} clusters", divisor, clusters()));
  }
}

double zipf_share(int64_t first, int64_t past, int64_t vocabulary_size) {
  const auto logarithm = [](int64_t rank) { return std::log(static_cast<double>(std::max<int64_t>(1, rank))); };
  return vocabulary_size < 2 ? 1 : (logarithm(past) - logarithm(first)) / logarithm(vocabulary_size);
}

}  // namespace fwl
