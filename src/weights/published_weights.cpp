#include "weights/published_weights.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "files/quantized.h"
#include "files/remembered_hashes.h"
#include "support/error.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

[[noreturn]] void fail_missing(const std::string& where, const std::string& name, at::IntArrayRef shape) {
  fail(where, fmt::format("a tensor {} of shape {}", name, c10::str(shape)), "none",
       "the file is incomplete, or has another architecture");
}

void check_shape(const std::string& where, const std::string& name, at::IntArrayRef expected, at::IntArrayRef got) {
  if (expected != got)
    fail(fmt::format("{}: {}", where, name), fmt::format("shape {}", c10::str(expected)), c10::str(got),
         "the configuration belongs to other weights");
}

// A weight that is not finite would spread to everything that is computed with it.
[[noreturn]] void fail_not_finite(const std::string& where, const std::string& name) {
  fail(fmt::format("{}: {}", where, name), "finite weights", "NaN or infinity", "the file is damaged");
}

at::Tensor finite(const std::string& where, const std::string& name, at::Tensor weights) {
  if (!weights.isfinite().all().item<bool>()) fail_not_finite(where, name);
  return weights;
}

// A view of mapped bytes that keeps their owner alive. Nothing writes to it.
template <class Owner>
at::Tensor view_bytes(std::span<const std::byte> bytes, int64_t rows, std::shared_ptr<Owner> owner) {
  auto* data = const_cast<std::byte*>(bytes.data());
  return at::from_blob(
      data, {rows, static_cast<int64_t>(bytes.size()) / rows}, [owner](void*) {}, at::kByte);
}

}  // namespace

WeightFormat weight_format_from_name(const std::string& name) {
  if (name == "quantized") return WeightFormat::quantized;
  if (name == "fp32") return WeightFormat::fp32;
  if (name == "auto") return WeightFormat::automatic;
  fail("weights", "quantized, fp32 or auto", "'" + name + "'");
}

GgufWeights::GgufWeights(std::shared_ptr<const GgufFile> file, WeightFormat format, FileName file_name)
    : file_(std::move(file)),
      format_(format),
      file_name_(std::move(file_name)),
      is_checked_(is_remembered(file_->where())) {}

bool GgufWeights::has(const std::string& name) const {
  return file_->find_tensor(file_name_(name)) != nullptr;
}

const GgufTensor& GgufWeights::find(const std::string& name, at::IntArrayRef shape) const {
  const auto file_name = file_name_(name);
  const auto* tensor = file_->find_tensor(file_name);
  if (!tensor) fail_missing(file_->where(), file_name, shape);
  check_shape(file_->where(), file_name, shape, tensor->shape);
  if (!can_dequantize(tensor->type))
    fail(fmt::format("{}: {}", file_->where(), file_name), "a tensor type that can be dequantised",
         std::string(info(tensor->type).name), "quantise the model to another type, e.g. Q4_K or Q8_0");
  return *tensor;
}

at::Tensor GgufWeights::tensor(const std::string& name, at::IntArrayRef shape, const Initial&) {
  const auto& found = find(name, shape);
  auto values = at::empty(shape, at::kFloat);
  dequantize_rows(found, 0, {values.mutable_data_ptr<float>(), static_cast<size_t>(values.numel())});
  return finite(file_->where(), file_name_(name), std::move(values));
}

Matrix GgufWeights::matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
  const auto& found = find(name, {rows, columns});
  if (found.type == GgufType::F32) return tensor(name, {rows, columns}, initial);
  if (!is_checked_ && !has_finite_scales(found.type, found.bytes)) fail_not_finite(file_->where(), file_name_(name));
  const Matrix quantized(view_bytes(found.bytes, rows, file_), found.type, columns);
  return format_ == WeightFormat::quantized ? quantized : Matrix(quantized.dequantized());
}

FolderWeights::FolderWeights(std::shared_ptr<const HuggingFaceFolder> folder, WeightFormat format, FileName file_name)
    : folder_(std::move(folder)), format_(format), file_name_(std::move(file_name)) {
  for (const auto& shard : folder_->shards())
    if (shard.has_checksum()) shard.expect_checksum("weights");  // a file of this project
}

bool FolderWeights::has(const std::string& name) const {
  return folder_->find(in_file(name)) != nullptr;
}

const TensorView& FolderWeights::find(const std::string& asked, at::IntArrayRef shape) const {
  const auto name = in_file(asked);
  const auto* view = folder_->find(name);
  if (!view) fail_missing(folder_->path(), name, shape);
  check_shape(folder_->path(), name, shape, view->shape);
  if (!at::isFloatingType(to_scalar_type(view->dtype)))
    fail(fmt::format("{}: {}", folder_->path(), name), "floating-point numbers", c10::str(to_scalar_type(view->dtype)));
  return *view;
}

at::Tensor FolderWeights::tensor(const std::string& name, at::IntArrayRef shape, const Initial&) {
  return finite(folder_->path(), name, to_tensor(find(name, shape)).to(at::kFloat));
}

Matrix FolderWeights::matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) {
  const auto& view = find(name, {rows, columns});
  const bool is_bf16 = view.dtype == Dtype::BF16;
  if (format_ == WeightFormat::fp32 || (!is_bf16 && view.dtype != Dtype::F16))
    return tensor(name, {rows, columns}, initial);
  const auto type = is_bf16 ? GgufType::BF16 : GgufType::F16;
  if (!has_finite_scales(type, view.bytes)) fail_not_finite(folder_->path(), name);
  return Matrix(view_bytes(view.bytes, rows, folder_), type, columns);
}

}  // namespace fwl
