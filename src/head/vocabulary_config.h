// How a base model embeds and predicts its vocabulary: the kind of head, and the clusters of the adaptive softmax.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fwl {

enum class HeadKind { softmax, adaptive_softmax };

// Clusters are those of the adaptive softmax, most frequent tokens first.
struct VocabularyConfig {
  HeadKind head = HeadKind::softmax;
  int64_t size = 0;                    // V
  int64_t hidden_size = 0;             // D
  int64_t embedding_size = 0;          // of the most frequent tokens' vectors, with the adaptive softmax
  std::vector<int64_t> cutoffs;        // where clusters end, but for the last one
  int64_t divisor = 1;                 // each cluster's vectors are so many times narrower than those of the one before
  bool is_tied = true;                 // head and embedding share their tables
  std::vector<bool> tied_projections;  // per cluster; missing ones are not tied

  static VocabularyConfig plain(int64_t size, int64_t hidden_size, bool is_tied);  // one table, one softmax

  int64_t clusters() const { return static_cast<int64_t>(cutoffs.size()) + 1; }
  int64_t first_token(int64_t cluster) const;  // and the vocabulary's size for cluster == clusters()
  int64_t tokens(int64_t cluster) const { return first_token(cluster + 1) - first_token(cluster); }
  int64_t cluster_size(int64_t cluster) const;  // numbers in each of its vectors
  double share(int64_t cluster) const;          // of a text's tokens, about
  bool has_tied_projection(int64_t cluster) const;
  void check(const std::string& where) const;
};

// The share of a text that the tokens of ranks first … past - 1 make up: by Zipf's law the tokens up to rank r make up
// about ln r / ln V of it.
double zipf_share(int64_t first, int64_t past, int64_t vocabulary_size);

}  // namespace fwl
