// Collects a model's weights while its constructor asks for them, so that every weight is named in one place, together
// with what the model does with it.
#pragma once

#include "weights/weight_source.h"

namespace fwl {

// How many weights a model has, by what is done with them. Quantised ones count as the numbers that they stand for.
struct WeightCounts {
  int64_t lookups = 0;   // in tables of which a token takes a row
  int64_t matrices = 0;  // in matrices that every token, or a share of all tokens, is multiplied by
  int64_t vectors = 0;   // gains, shifts and biases
  int64_t head = 0;      // the head's own; it counts its products itself
  double products_per_token = 0;

  int64_t base() const { return matrices + vectors; }
  int64_t total() const { return lookups + base() + head; }
};

struct ModelWeights {
  NamedTensors parameters;                                // dense ones
  std::vector<std::pair<std::string, Matrix>> quantized;  // no parameters: nothing can train them
  WeightCounts counts;

  size_t bytes() const {
    size_t total = 0;
    for (const auto& [name, tensor] : parameters) total += tensor.nbytes();
    for (const auto& [name, matrix] : quantized) total += matrix.bytes();
    return total;
  }
};

class ParameterList {
 public:
  ParameterList(WeightSource& source, ModelWeights& weights) : source_(source), weights_(weights) {}

  // Added or multiplied number by number.
  at::Tensor vector(const std::string& name, at::IntArrayRef shape, const Initial& initial) {
    return tensor(name, shape, initial, weights_.counts.vectors);
  }
  // A row is looked up for every token.
  Matrix table(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    return matrix(name, rows, columns, initial, weights_.counts.lookups);
  }
  at::Tensor dense_table(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    return tensor(name, {rows, columns}, initial, weights_.counts.lookups);
  }
  // Multiplied by the vectors of all tokens; a dense one by those of a `share` of them.
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    weights_.counts.products_per_token += numbers(rows, columns);
    return matrix(name, rows, columns, initial, weights_.counts.matrices);
  }
  at::Tensor dense_matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial,
                          double share = 1) {
    weights_.counts.products_per_token += share * numbers(rows, columns);
    return tensor(name, {rows, columns}, initial, weights_.counts.matrices);
  }
  // What only the head uses, whatever it is.
  Matrix head_matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    return matrix(name, rows, columns, initial, weights_.counts.head);
  }
  at::Tensor head_tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) {
    return tensor(name, shape, initial, weights_.counts.head);
  }

 private:
  static double numbers(int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  }

  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial, int64_t& count) {
    auto tensor = source_.tensor(name, shape, initial);
    count += tensor.numel();
    weights_.parameters.emplace_back(name, tensor);
    return tensor;
  }
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial, int64_t& count) {
    auto matrix = source_.matrix(name, rows, columns, initial);
    count += rows * columns;
    if (matrix.is_quantized())
      weights_.quantized.emplace_back(name, matrix);
    else
      weights_.parameters.emplace_back(name, matrix.dense());
    return matrix;
  }

  WeightSource& source_;
  ModelWeights& weights_;
};

}  // namespace fwl
