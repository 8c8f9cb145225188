// Collects a model's weights while its constructor asks for them, so that every weight is named in one place.
#pragma once

#include "weights/weight_source.h"

namespace fwl {

class ParameterList {
 public:
  ParameterList(WeightSource& source, NamedTensors& parameters) : source_(source), parameters_(parameters) {}

  bool has(const std::string& name) const { return source_.has(name); }

  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) {
    parameters_.emplace_back(name, source_.tensor(name, shape, initial));
    return parameters_.back().second;
  }

  // Quantised matrices are not parameters: they cannot be trained.
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    auto matrix = source_.matrix(name, rows, columns, initial);
    if (!matrix.is_quantized()) parameters_.emplace_back(name, matrix.dense());
    return matrix;
  }

 private:
  WeightSource& source_;
  NamedTensors& parameters_;
};

}  // namespace fwl
