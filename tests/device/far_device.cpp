// A device for tests, `--device far`: its tensors lie in memory that the CPU cannot touch, its operations are the CPU's
// on copies, and an operation on tensors of different devices is an error. Loading this library registers it.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include "device/far_memory.h"

namespace fwl {
namespace {

constexpr auto far = c10::DeviceType::PrivateUse1;
const c10::DispatchKeySet far_keys(c10::DispatchKey::PrivateUse1);

// A tensor of the CPU over the same bytes, of this device or of the CPU.
at::Tensor opened(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  const char* data = static_cast<const char*>(tensor.storage().data()) + tensor.storage_offset() * tensor.itemsize();
  return at::from_blob(as_seen_by_the_device(data), tensor.sizes(), tensor.strides(),
                       at::TensorOptions(tensor.scalar_type()));
}

at::Tensor empty(c10::IntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, &far_memory(), far_keys, c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &far_memory(), far_keys, c10::dtype_or_default(type));
}

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool) {
  if (source.numel() > 0) opened(target).copy_(opened(source));
  return target;
}

const at::Tensor& resize_far(const at::Tensor& tensor, c10::IntArrayRef sizes, std::optional<at::MemoryFormat>) {
  const auto bytes = static_cast<size_t>(c10::multiply_integers(sizes)) * tensor.itemsize();
  const auto& storage = tensor.storage();
  if (storage.nbytes() < bytes) {
    auto larger = far_memory().allocate(bytes);
    if (storage.nbytes() > 0) far_memory().copy_data(larger.get(), storage.data(), storage.nbytes());
    storage.unsafeGetStorageImpl()->set_data_ptr(std::move(larger));
    storage.unsafeGetStorageImpl()->set_nbytes(bytes);
  }
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  if (target.sizes() != source.sizes()) resize_far(target, source.sizes(), std::nullopt);
  return copy_from(source, target, false);
}

at::Tensor as_strided(const at::Tensor& tensor, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                      std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(tensor, sizes, strides, offset);
}

at::Tensor& set_storage(at::Tensor& tensor, at::Storage storage, int64_t offset, c10::IntArrayRef sizes,
                        c10::IntArrayRef strides) {
  tensor.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, offset);
  return tensor;
}

// Single numbers may come from the CPU, as with any device.
void expect_here(const c10::OperatorHandle& operation, const at::Tensor& tensor) {
  TORCH_CHECK(!tensor.defined() || !tensor.is_cpu() || tensor.dim() == 0, operation.schema().name(),
              " mixes tensors of the far device with a tensor of the CPU of shape ", tensor.sizes());
}

void on_copies(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  for (const auto& argument : torch::jit::last(*stack, operation.schema().arguments().size())) {
    if (argument.isTensor()) expect_here(operation, argument.toTensor());
    if (argument.isTensorList())
      for (const at::Tensor& tensor : argument.toTensorList()) expect_here(operation, tensor);
    if (argument.isOptionalTensorList())
      for (const std::optional<at::Tensor>& tensor : argument.toOptionalTensorList())
        if (tensor) expect_here(operation, *tensor);
  }
  at::native::cpu_fallback(operation, stack);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_copies>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("resize_", &resize_far);
  library.impl("as_strided", &as_strided);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("unfold", &at::native::unfold);
  library.impl("set_.source_Storage_storage_offset", &set_storage);
}

c10::Stream only_stream() {
  return c10::Stream(c10::Stream::DEFAULT, {far, 0});
}

class FarGuard : public c10::impl::NoOpDeviceGuardImpl<far> {
 public:
  c10::Device exchangeDevice(c10::Device) const override { return {far, 0}; }
  c10::Device getDevice() const override { return {far, 0}; }
  c10::Stream getStream(c10::Device) const noexcept override { return only_stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return only_stream(); }
  void synchronizeDevice(const c10::DeviceIndex) const override {}  // nothing runs behind the caller's back
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, FarGuard)

class FarHooks : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

const bool is_registered = [] {
  c10::SetAllocator(far, &far_memory());
  c10::register_privateuse1_backend("far");
  at::RegisterPrivateUse1HooksInterface(new FarHooks);  // the engine keeps it
  return true;
}();

}  // namespace
}  // namespace fwl
