// The Python module fwl._C: the same C++ code, for Python.
#include <torch/extension.h>

#include "support/cpu.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  fwl::protect_engine_from_broken_amx();
  module.attr("version") = FWL_VERSION;
}
