#include "weights/tensor_files.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

struct DtypePair {
  Dtype dtype;
  at::ScalarType scalar;
};

constexpr DtypePair dtype_pairs[] = {
    {Dtype::F64, at::kDouble},
    {Dtype::I64, at::kLong},
    {Dtype::U64, at::kUInt64},
    {Dtype::F32, at::kFloat},
    {Dtype::I32, at::kInt},
    {Dtype::U32, at::kUInt32},
    {Dtype::F16, at::kHalf},
    {Dtype::BF16, at::kBFloat16},
    {Dtype::I16, at::kShort},
    {Dtype::U16, at::kUInt16},
    {Dtype::F8_E4M3, at::kFloat8_e4m3fn},
    {Dtype::F8_E5M2, at::kFloat8_e5m2},
    {Dtype::F8_E8M0, at::kFloat8_e8m0fnu},
    {Dtype::I8, at::kChar},
    {Dtype::U8, at::kByte},
    {Dtype::BOOL, at::kBool},
};

}  // namespace

at::ScalarType to_scalar_type(Dtype dtype) {
  return std::ranges::find(dtype_pairs, dtype, &DtypePair::dtype)->scalar;
}

Dtype to_dtype(at::ScalarType type) {
  const auto* found = std::ranges::find(dtype_pairs, type, &DtypePair::scalar);
  if (found == std::end(dtype_pairs)) fail("safetensors", "a type that safetensors supports", c10::toString(type));
  return found->dtype;
}

at::Tensor to_tensor(const TensorView& view) {
  auto tensor = at::empty(view.shape, to_scalar_type(view.dtype));
  std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

TensorMap load_tensors(const SafetensorsFile& file) {
  TensorMap tensors;
  for (const auto& view : file.tensors()) tensors.emplace(view.name, to_tensor(view));
  return tensors;
}

namespace {

// Bytes of tensors on any device, which stay alive until they are written.
struct TensorBytes {
  explicit TensorBytes(const TensorMap& tensors) {
    for (const auto& [name, given] : tensors) {
      const auto& tensor = kept[name] = given.detach().cpu().contiguous();
      views.push_back({name,
                       to_dtype(tensor.scalar_type()),
                       tensor.sizes().vec(),
                       {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
    }
  }
  TensorMap kept;
  std::vector<TensorView> views;
};

}  // namespace

void save_tensors(const TensorMap& tensors, const std::string& path, const TextMap& metadata) {
  write_safetensors(path, TensorBytes(tensors).views, metadata);
}

void save_checked_tensors(const TensorMap& tensors, const std::string& path, TextMap metadata) {
  write_checked_safetensors(path, TensorBytes(tensors).views, std::move(metadata));
}

}  // namespace fwl
