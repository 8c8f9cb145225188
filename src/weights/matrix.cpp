#include "weights/matrix.h"

#include <ATen/Parallel.h>

#include <span>

#include "engine/products.h"
#include "engine/torch.h"
#include "files/quantized.h"
#include "kernels/quantized_dot.h"

namespace fwl {
namespace {

// Up to this many vectors are multiplied with the quantised rows directly, which is limited by reading the rows. For
// more, dequantising once and a dense product are faster.
constexpr int64_t few_vectors = 6;

void dequantize_bytes(GgufType type, const uint8_t* bytes, int64_t row_bytes, int64_t columns, float* values) {
  dequantize(type, {reinterpret_cast<const std::byte*>(bytes), static_cast<size_t>(row_bytes)},
             {values, static_cast<size_t>(columns)});
}

}  // namespace

Matrix::Matrix(at::Tensor dense) : tensor_(std::move(dense)) {
  if (tensor_.defined() && tensor_.dim() == 2) columns_ = tensor_.size(1);
}

Matrix::Matrix(at::Tensor bytes, GgufType type, int64_t columns)
    : tensor_(std::move(bytes)), is_quantized_(true), type_(type), columns_(columns) {
  TORCH_CHECK(tensor_.is_cpu() && tensor_.is_contiguous() && can_dequantize(type),
              "a quantised matrix must be on the CPU");
}

const at::Tensor& Matrix::dense() const {
  TORCH_CHECK(!is_quantized_, "a quantised matrix has no dense tensor");
  return tensor_;
}

at::Tensor Matrix::dequantized() const {
  if (!is_quantized_) return tensor_;
  auto values = at::empty({rows(), columns_}, at::kFloat);
  float* data = values.mutable_data_ptr<float>();
  const uint8_t* bytes = tensor_.const_data_ptr<uint8_t>();
  const int64_t row_bytes = tensor_.size(1);
  at::parallel_for(0, rows(), std::max<int64_t>(1, 65536 / columns_), [&](int64_t begin, int64_t end) {
    dequantize_bytes(type_, bytes + begin * row_bytes, (end - begin) * row_bytes, (end - begin) * columns_,
                     data + begin * columns_);
  });
  return values;
}

at::Tensor Matrix::select_rows(const at::Tensor& indices) const {
  if (!is_quantized_) return at::embedding(tensor_, indices);
  const auto flat = indices.reshape({-1}).to(at::kCPU, at::kLong).contiguous();
  auto shape = indices.sizes().vec();
  shape.push_back(columns_);
  auto values = at::empty(shape, at::kFloat);
  const int64_t row_bytes = tensor_.size(1);
  for (int64_t index = 0; index < flat.numel(); ++index)
    dequantize_bytes(type_, tensor_.const_data_ptr<uint8_t>() + flat.const_data_ptr<int64_t>()[index] * row_bytes,
                     row_bytes, columns_, values.mutable_data_ptr<float>() + index * columns_);
  return values;
}

at::Tensor Matrix::apply(const at::Tensor& x, const at::Tensor& bias) const {
  if (!is_quantized_) {
    const auto out = product(x, tensor_.t());
    return bias.defined() ? out + bias : out;
  }
  TORCH_CHECK(!(at::GradMode::is_enabled() && x.requires_grad()), "gradients need dense weights");
  const auto flat = x.reshape({-1, columns_}).contiguous();
  auto shape = x.sizes().vec();
  shape.back() = rows();
  const int64_t count = flat.size(0);
  auto out = at::empty({count, rows()}, flat.options());
  if (count <= few_vectors) {
    const float* vectors = flat.const_data_ptr<float>();
    const uint8_t* bytes = tensor_.const_data_ptr<uint8_t>();
    const int64_t row_bytes = tensor_.size(1), stride = rows();
    float* results = out.mutable_data_ptr<float>();
    at::parallel_for(0, stride, std::max<int64_t>(1, 32768 / row_bytes), [&](int64_t begin, int64_t end) {
      quantized_dot(type_, bytes + begin * row_bytes, end - begin, row_bytes, columns_, vectors, count, results + begin,
                    stride);
    });
  } else {
    product_into(out, flat, dequantized().t());
  }
  if (bias.defined()) out.add_(bias);
  return out.view(shape);
}

}  // namespace fwl
