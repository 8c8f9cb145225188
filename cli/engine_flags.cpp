#include "cli/engine_flags.h"

#include <ATen/Parallel.h>

#include "engine/device.h"
#include "engine/products.h"
#include "weights/quantized_product.h"

namespace fwl {

void add_fields(Fields& fields, EngineFlags& flags) {
  fields.add("threads", flags.threads, "number of threads; 0: all cores").range(0, 1024).short_name("t");
  fields.add("device", flags.device, "device to run on: cpu, cuda, cuda:1, …");
  fields
      .add("precision", flags.precision,
           "precision of products; auto: fp32. bf16 rounds operands where that is faster; sums stay fp32")
      .choices({"auto", "fp32", "bf16", "bf16-everywhere"});
  fields
      .add("activations", flags.activations,
           "what quantised weights are multiplied with: fp32, or q8: rounded to 8 bits, faster when writing")
      .choices({"fp32", "q8"});
}

c10::Device apply(const EngineFlags& flags) {
  if (flags.threads > 0) at::set_num_threads(static_cast<int>(flags.threads));
  set_product_precision(precision_from_name("--precision", flags.precision));
  set_activations(activations_from_name("--activations", flags.activations));
  return device_from_name("--device", flags.device);
}

}  // namespace fwl
