// Where a model's weights come from: a published file, a checkpoint, or random initialisation. Models ask by name and
// shape, so that one constructor per architecture serves all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "weights/matrix.h"

namespace fwl {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// The initial values of a fresh tensor; files ignore them.
struct Initial {
  double mean = 0, deviation = 0;
  std::vector<double> values = {};  // one per element of a vector

  static Initial constant(double value) { return {value, 0, {}}; }
  static Initial normal(double deviation) { return {0, deviation, {}}; }
  // Keeps the variance of a sum over `inputs` inputs, times `share`.
  static Initial fan_in(int64_t inputs, double share = 1);
  static Initial vector(std::vector<double> values) { return {0, 0, std::move(values)}; }
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;

  virtual bool has(const std::string& name) const = 0;
  // Both throw a UserError that names file and tensor if it is missing or has another shape.
  virtual at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) = 0;
  virtual Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
    return tensor(name, {rows, columns}, initial);
  }
};

// Throws a UserError before it allocates more than the machine has.
class FreshWeights : public WeightSource {
 public:
  explicit FreshWeights(uint64_t seed, const at::TensorOptions& options = at::kFloat);
  bool has(const std::string&) const override { return true; }
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) override;

 private:
  at::Generator generator_;
  at::TensorOptions options_;
  double bytes_ = 0;  // of all tensors so far
};

}  // namespace fwl
