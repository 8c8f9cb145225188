// Model files in Python: safetensors in and out, and the unpacking of GGUF tensors.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bindings.h"
#include "files/gguf.h"
#include "files/quantized.h"
#include "files/safetensors.h"
#include "support/error.h"
#include "text/describe_file.h"

namespace fwl {
namespace {

namespace py = pybind11;
using TensorMap = std::map<std::string, torch::Tensor>;

struct DtypePair {
  Dtype dtype;
  torch::ScalarType scalar;
};

constexpr DtypePair dtype_pairs[] = {
    {Dtype::F64, torch::kFloat64},
    {Dtype::I64, torch::kInt64},
    {Dtype::U64, torch::kUInt64},
    {Dtype::F32, torch::kFloat32},
    {Dtype::I32, torch::kInt32},
    {Dtype::U32, torch::kUInt32},
    {Dtype::F16, torch::kFloat16},
    {Dtype::BF16, torch::kBFloat16},
    {Dtype::I16, torch::kInt16},
    {Dtype::U16, torch::kUInt16},
    {Dtype::F8_E4M3, at::kFloat8_e4m3fn},
    {Dtype::F8_E5M2, at::kFloat8_e5m2},
    {Dtype::F8_E8M0, at::kFloat8_e8m0fnu},
    {Dtype::I8, torch::kInt8},
    {Dtype::U8, torch::kUInt8},
    {Dtype::BOOL, torch::kBool},
};

torch::ScalarType to_torch(Dtype dtype) {
  return std::ranges::find(dtype_pairs, dtype, &DtypePair::dtype)->scalar;
}

Dtype from_torch(torch::ScalarType scalar) {
  const auto* found = std::ranges::find(dtype_pairs, scalar, &DtypePair::scalar);
  if (found == std::end(dtype_pairs)) fail("save_safetensors", "a dtype that safetensors has", torch::toString(scalar));
  return found->dtype;
}

TensorMap load_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  TensorMap tensors;
  for (const auto& [name, dtype, shape, bytes] : file.tensors()) {
    auto tensor = torch::empty(shape, to_torch(dtype));
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(tensor.data_ptr()));
    tensors.emplace(name, tensor);
  }
  return tensors;
}

void save_safetensors(const TensorMap& tensors, const std::string& path, const TextMap& metadata) {
  TensorMap kept;  // alive until written
  std::vector<TensorView> views;
  for (const auto& [name, given] : tensors) {
    const auto& tensor = kept[name] = given.detach().cpu().contiguous();
    views.push_back({name,
                     from_torch(tensor.scalar_type()),
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
  }
  write_safetensors(path, std::move(views), metadata);
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
  module.def("save_safetensors", save_safetensors, arg("tensors"), arg("path"), arg("metadata") = TextMap{},
             "Writes a safetensors file, complete or not at all.");
  module.def("load_gguf", load_gguf, arg("path"), "All tensors of a GGUF file, unpacked to float32, by name.");
  module.def("gguf_metadata", gguf_metadata, arg("path"), "The metadata of a GGUF file; texts are bytes.");
  module.def("inspect", inspect, arg("path"), "What is in a model file, a tokenizer or a token file, as a dict.");
  module.def("dequantize", dequantize_bytes, arg("type"), arg("blocks"), "Unpacks blocks of a GGUF type to float32.");
}

}  // namespace fwl
