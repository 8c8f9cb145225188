#include "weights/weight_source.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "engine/torch.h"

namespace fwl {

Initial Initial::fan_in(int64_t inputs, double share) {
  return normal(std::sqrt(share / static_cast<double>(inputs)));
}

FreshWeights::FreshWeights(uint64_t seed, const at::TensorOptions& options)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)), options_(options) {}

// Drawn on the CPU in double, so that a seed gives the same values on every device and at every precision.
at::Tensor FreshWeights::tensor(const std::string&, at::IntArrayRef shape, const Initial& initial) {
  if (!initial.values.empty()) return at::tensor(initial.values, at::kDouble).view(shape).to(options_);
  const auto tensor = initial.deviation == 0
                          ? at::full(shape, initial.mean, at::kDouble)
                          : at::empty(shape, at::kDouble).normal_(initial.mean, initial.deviation, generator_);
  return tensor.to(options_);
}

}  // namespace fwl
