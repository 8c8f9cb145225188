#include "weights/weight_source.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>

#include "engine/torch.h"
#include "support/error.h"
#include "support/measure.h"

namespace fwl {

Initial Initial::fan_in(int64_t inputs, double share) {
  return normal(std::sqrt(share / static_cast<double>(inputs)));
}

FreshWeights::FreshWeights(uint64_t seed, const at::TensorOptions& options)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)), options_(options) {}

// Drawn on the CPU in double, so that a seed gives the same values on every device and at every precision.
at::Tensor FreshWeights::tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) {
  double bytes = sizeof(float);
  for (const auto size : shape) bytes *= static_cast<double>(size);
  bytes_ += bytes;
  if (bytes_ > machine_memory_bytes())
    fail("a new model",
         fmt::format("weights within the {:.3g} GB of memory of this machine", machine_memory_bytes() / 1e9),
         fmt::format("{:.3g} GB with {}", bytes_ / 1e9, name), "smaller sizes");
  if (!initial.values.empty()) return at::tensor(initial.values, at::kDouble).view(shape).to(options_);
  const auto tensor = initial.deviation == 0
                          ? at::full(shape, initial.mean, at::kDouble)
                          : at::empty(shape, at::kDouble).normal_(initial.mean, initial.deviation, generator_);
  return tensor.to(options_);
}

}  // namespace fwl
