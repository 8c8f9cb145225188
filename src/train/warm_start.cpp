#include "train/warm_start.h"

#include "engine/torch.h"
#include "support/error.h"
#include "weights/tensor_reader.h"

namespace fwl {

void start_from(const NamedTensors& parameters, const SafetensorsFile& file) {
  const at::NoGradGuard no_grad;
  TensorReader reader(file, "weights");
  for (const auto& [name, parameter] : parameters)
    parameter.copy_(reader.take_finite(name, parameter.sizes(), parameter.scalar_type()));
  for (const auto& [name, tensor] : reader.left())
    if (tensor.any().item<bool>())
      fail(file.where(), "weights of the same settings", "also " + name,
           "weights that this run does not train would be lost");
}

}  // namespace fwl
