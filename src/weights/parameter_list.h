// Collects and counts a model's weights while its constructor requests them, so that each is named in one place,
// together with how it is used.
#pragma once

#include "weights/weight_source.h"

namespace fwl {

// Numbers of weights, by use. A quantised weight counts once per value, whatever its bits.
struct WeightCounts {
  int64_t lookups = 0;   // embedding tables: one row per token
  int64_t matrices = 0;  // matrices that multiply every token, or a share of the tokens
  int64_t vectors = 0;   // gains, shifts and biases
  int64_t head = 0;      // only in the head, which counts its own products
  double products_per_token = 0;

  int64_t base() const { return matrices + vectors; }
  int64_t total() const { return lookups + base() + head; }
};

struct ModelWeights {
  NamedTensors parameters;                                // dense ones
  std::vector<std::pair<std::string, Matrix>> quantized;  // not trainable, so not parameters
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

  // A gain, shift or bias: used element by element.
  at::Tensor vector(const std::string& name, at::IntArrayRef shape, const Initial& initial) {
    return tensor(name, shape, initial, weights_.counts.vectors);
  }
  // An embedding table: one row is looked up per token.
  Matrix table(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    return matrix(name, rows, columns, initial, weights_.counts.lookups);
  }
  at::Tensor dense_table(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    return tensor(name, {rows, columns}, initial, weights_.counts.lookups);
  }
  // Multiplies every token, or only a `share` of the tokens.
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    weights_.counts.products_per_token += numbers(rows, columns);
    return matrix(name, rows, columns, initial, weights_.counts.matrices);
  }
  at::Tensor dense_matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial,
                          double share = 1) {
    weights_.counts.products_per_token += share * numbers(rows, columns);
    return tensor(name, {rows, columns}, initial, weights_.counts.matrices);
  }
  // Used only by the head.
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
