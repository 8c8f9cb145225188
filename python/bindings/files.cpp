// Model files in Python: safetensors in and out, and the unpacking of GGUF tensors.
#include <nlohmann/json.hpp>

#include "bindings.h"
#include "files/gguf.h"
#include "files/quantized.h"
#include "files/safetensors.h"
#include "inspect/describe_file.h"
#include "support/error.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

namespace py = pybind11;

TensorMap load_safetensors(const std::string& path) {
  return load_tensors(SafetensorsFile(path));
}

torch::Tensor dequantize_bytes(const std::string& type_name, const py::bytes& packed) {
  const auto* type = find_gguf_type(type_name);
  if (!type) fail("dequantize", "the name of a GGUF tensor type", "'" + type_name + "'");
  const auto text = static_cast<std::string_view>(packed);
  if (text.size() % static_cast<size_t>(type->block_bytes) != 0)
    fail("dequantize", "whole blocks", std::to_string(text.size()) + " bytes");
  const auto blocks = static_cast<int64_t>(text.size()) / type->block_bytes;
  auto values = torch::empty(blocks * type->block_values);
  dequantize(type->type, std::as_bytes(std::span(text)),
             {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values;
}

py::object to_python(const GgufArray& array);

py::object to_python(const GgufValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value.data)) return py::bytes(*text);
  if (const auto* array = std::get_if<GgufArray>(&value.data)) return to_python(*array);
  if (const auto* number = std::get_if<uint64_t>(&value.data)) return py::int_(*number);
  if (const auto* number = std::get_if<int64_t>(&value.data)) return py::int_(*number);
  if (const auto* number = std::get_if<double>(&value.data)) return py::float_(*number);
  return py::bool_(std::get<bool>(value.data));
}

py::object to_python(const GgufArray& array) {
  py::list list;
  for (const auto text : array.texts) list.append(py::bytes(text));
  for (const auto& each : array.arrays) list.append(to_python(each));
  if (fixed_bytes(array.kind))
    for (uint64_t i = 0; i < array.count; ++i) list.append(to_python(element(array, i)));
  return list;
}

py::dict gguf_metadata(const std::string& path) {
  const GgufFile file(path);
  py::dict metadata;
  for (const auto& [key, value] : file.metadata()) metadata[py::str(std::string(key))] = to_python(value);
  return metadata;
}

TensorMap load_gguf(const std::string& path) {
  const GgufFile file(path);
  TensorMap tensors;
  for (const auto& tensor : file.tensors()) {
    auto values = torch::empty(tensor.shape);
    dequantize_rows(tensor, 0, {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
    tensors.emplace(std::string(tensor.name), values);
  }
  return tensors;
}

py::object inspect(const std::string& path) {
  const auto text = describe_file(path).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return py::module_::import("json").attr("loads")(text);
}

}  // namespace

void bind_files(py::module_& module) {
  using py::arg;
  module.def("load_safetensors", load_safetensors, arg("path"), "All tensors of a safetensors file, by name.");
  module.def(
      "safetensors_metadata", [](const std::string& path) { return SafetensorsFile(path).metadata(); }, arg("path"),
      "The texts in the header of a safetensors file.");
  module.def("save_safetensors", save_tensors, arg("tensors"), arg("path"), arg("metadata") = TextMap{},
             "Writes a safetensors file, complete or not at all.");
  module.def("load_gguf", load_gguf, arg("path"), "All tensors of a GGUF file, unpacked to float32, by name.");
  module.def("gguf_metadata", gguf_metadata, arg("path"), "The metadata of a GGUF file; texts are bytes.");
  module.def("inspect", inspect, arg("path"), "What is in a model file, a tokenizer or a token file, as a dict.");
  module.def("dequantize", dequantize_bytes, arg("type"), arg("blocks"), "Unpacks blocks of a GGUF type to float32.");
}

}  // namespace fwl
