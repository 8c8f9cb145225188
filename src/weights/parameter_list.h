// Collects a model's weights while its constructor asks for them, so that every weight is named in one place.
#pragma once

#include "weights/weight_source.h"

namespace fwl {

struct ModelWeights {
  NamedTensors parameters;                                // dense ones
  std::vector<std::pair<std::string, Matrix>> quantized;  // no parameters: nothing can train them
};

class ParameterList {
 public:
  ParameterList(WeightSource& source, ModelWeights& weights) : source_(source), weights_(weights) {}

  bool has(const std::string& name) const { return source_.has(name); }

  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) {
    weights_.parameters.emplace_back(name, source_.tensor(name, shape, initial));
    return weights_.parameters.back().second;
  }

  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    auto matrix = source_.matrix(name, rows, columns, initial);
    if (matrix.is_quantized())
      weights_.quantized.emplace_back(name, matrix);
    else
      weights_.parameters.emplace_back(name, matrix.dense());
    return matrix;
  }

 private:
  WeightSource& source_;
  ModelWeights& weights_;
};

}  // namespace fwl
