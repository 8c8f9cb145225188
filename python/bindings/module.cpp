// The Python module fwl._C: the same C++ code, for Python.
#include <torch/extension.h>

#include <filesystem>

#include "bindings.h"
#include "support/cpu.h"
#include "support/error.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  fwl::protect_engine_from_broken_amx();
  module.attr("version") = FWL_VERSION;
  pybind11::register_exception<fwl::UserError>(module, "UserError", PyExc_ValueError);
  pybind11::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::filesystem::filesystem_error& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    }
  });
  fwl::bind_files(module);
  fwl::bind_text(module);
  fwl::bind_fast(module);
  fwl::bind_tokens(module);
  fwl::bind_models(module);
  fwl::bind_evaluation(module);
  fwl::bind_store(module);
  fwl::bind_commands(module);
}
