// The one place where a base model's output head is chosen, with the weights that it does not share with the embedding.
#pragma once

#include <string>
#include <vector>

#include "head/head.h"
#include "head/vocabulary_config.h"
#include "weights/parameter_list.h"

namespace fwl {

class Fields;

// What a tied head shares with the embedding.
struct EmbeddingTables {
  std::vector<Matrix> tables;           // tokens,d: one, or with a divisor one per cluster
  std::vector<at::Tensor> projections;  // D,d; undefined where nothing is projected
};

// The names of the full softmax's own weights; an empty one: the head has none.
struct HeadNames {
  std::string weight, bias;
};

// `prefix` goes before the names.
void add_fields(Fields& fields, const std::string& prefix, HeadOptions& options);

class HeadFactory {
 public:
  HeadFactory() = default;
  HeadFactory(const VocabularyConfig& config, const EmbeddingTables& embedding, const HeadNames& names,
              const Initial& initial, ParameterList& list);

  // The same head each time, but for an adaptive one while gradients are recorded: slices of a table belong to the
  // graph in which they are used.
  std::shared_ptr<const Head> head() const;
  void weights_moved();  // to another device: slices stay where they were
  void set_options(const HeadOptions& options);

 private:
  std::shared_ptr<const Head> make() const;
  void ask_for_softmax(const HeadNames& names, const Initial& initial, ParameterList& list);
  void ask_for_adaptive_softmax(ParameterList& list);
  std::shared_ptr<const Head> make_softmax() const;
  std::shared_ptr<const Head> make_adaptive_softmax() const;
  at::Tensor cluster_weight(int64_t cluster) const;
  at::Tensor cluster_projection(int64_t cluster) const;

  VocabularyConfig config_;
  HeadOptions options_;
  EmbeddingTables embedding_;
  std::vector<Matrix> weights_;  // undefined where tied
  std::vector<at::Tensor> biases_, projections_;
  at::Tensor tail_weight_, tail_bias_;  // of the entries that stand for the tail clusters
  std::shared_ptr<const Head> kept_;
};

}  // namespace fwl
