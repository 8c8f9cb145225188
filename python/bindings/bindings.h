// The parts of the Python module, one file each.
#pragma once

#include <torch/extension.h>

namespace fwl {

void bind_files(pybind11::module_& module);
void bind_text(pybind11::module_& module);
void bind_fast(pybind11::module_& module);
void bind_tokens(pybind11::module_& module);
void bind_commands(pybind11::module_& module);
void bind_models(pybind11::module_& module);
void bind_store(pybind11::module_& module);

}  // namespace fwl
