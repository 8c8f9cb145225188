#include "cli/version.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "engine/products.h"
#include "kernels/instruction_set.h"
#include "support/cpu.h"

namespace fwl {

std::string version_text() {
  return fmt::format(
      "fwl {}\nengine   LibTorch {}, {}, compiled with {} {}\ncpu      {}\nproducts {}\nkernels  {}\nthreads  "
      "{}\ndevices  cpu{}\n",
      FWL_VERSION, TORCH_VERSION, at::hasMKL() ? "MKL" : "no MKL", "g++", __VERSION__, to_string(cpu_features()),
      product_backend(), name_of(instruction_set()), at::get_num_threads(), at::hasCUDA() ? ", cuda" : "");
}

}  // namespace fwl
