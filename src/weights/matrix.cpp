#include "weights/matrix.h"

#include <ATen/Parallel.h>

#include <span>

#include "engine/products.h"
#include "engine/row_products.h"
#include "engine/torch.h"
#include "files/quantized.h"
#include "kernels/quantized_dot.h"

namespace fwl {
namespace {

// Up to this many vectors are multiplied with the quantised rows directly, four at a time at the cost of one. For more,
// dequantising once and a dense product are faster.
constexpr int64_t few_vectors = 32;

// Matrices up to this size are dequantised at once for a product, larger ones slice by slice.
constexpr int64_t largest_dense_bytes = 128 << 20, slice_bytes = 32 << 20;

int64_t slice_rows(int64_t rows, int64_t columns) {
  const int64_t row_bytes = columns * static_cast<int64_t>(sizeof(float));
  return rows * row_bytes <= largest_dense_bytes ? rows : std::max<int64_t>(1, slice_bytes / row_bytes);
}

void dequantize_bytes(GgufType type, const uint8_t* bytes, int64_t row_bytes, int64_t columns, float* values) {
  dequantize(type, {reinterpret_cast<const std::byte*>(bytes), static_cast<size_t>(row_bytes)},
             {values, static_cast<size_t>(columns)});
}

// A product with quantised weights or their transpose; its gradient is a product with the other one.
class QuantizedProduct : public torch::autograd::Function<QuantizedProduct> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& bytes,
                            int64_t type, int64_t columns, bool is_transposed) {
    context->saved_data["bytes"] = bytes;
    context->saved_data["type"] = type;
    context->saved_data["columns"] = columns;
    context->saved_data["is_transposed"] = is_transposed;
    return Matrix(bytes, static_cast<GgufType>(type), columns).multiply_quantized(x, is_transposed);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstreams) {
    auto& saved = context->saved_data;
    return {QuantizedProduct::apply(upstreams[0], saved["bytes"].toTensor(), saved["type"].toInt(),
                                    saved["columns"].toInt(), !saved["is_transposed"].toBool()),
            {},
            {},
            {},
            {}};
  }
};

}  // namespace

Matrix::Matrix(at::Tensor dense) : weights_(std::make_shared<Weights>()) {
  weights_->tensor = std::move(dense);
  if (is_defined() && weights_->tensor.dim() == 2) weights_->columns = weights_->tensor.size(1);
}

Matrix::Matrix(at::Tensor bytes, GgufType type, int64_t columns)
    : weights_(std::make_shared<Weights>(Weights{std::move(bytes), true, type, columns})) {
  const auto& tensor = weights_->tensor;
  TORCH_CHECK(tensor.is_cpu() && tensor.is_contiguous() && can_dequantize(type),
              "a quantised matrix must be on the CPU");
}

const at::Tensor& Matrix::dense() const {
  TORCH_CHECK(weights_ && !weights_->is_quantized, "a quantised matrix has no dense tensor");
  return weights_->tensor;
}

const at::Tensor& Matrix::quantized_rows() const {
  TORCH_CHECK(is_quantized(), "a dense matrix has no quantised rows");
  return weights_->tensor;
}

Matrix Matrix::narrow(int64_t first_row, int64_t row_count) const {
  const auto rows = weights_->tensor.narrow(0, first_row, row_count);
  return weights_->is_quantized ? Matrix(rows, weights_->type, weights_->columns) : Matrix(rows);
}

void Matrix::to(at::Device device) {
  if (!is_defined() || weights_->tensor.device() == device) return;
  if (!weights_->is_quantized) return move_to(weights_->tensor, device);
  weights_->tensor = dequantized().to(device);
  weights_->is_quantized = false;
}

at::Tensor Matrix::dequantized() const {
  const auto& [tensor, is_quantized, type, columns] = *weights_;
  if (!is_quantized) return tensor;
  auto values = at::empty({rows(), columns}, at::kFloat);
  float* data = values.mutable_data_ptr<float>();
  const uint8_t* bytes = tensor.const_data_ptr<uint8_t>();
  const int64_t row_bytes = tensor.size(1);
  at::parallel_for(0, rows(), std::max<int64_t>(1, 65536 / columns),
                   [&, type = type, columns = columns](int64_t begin, int64_t end) {
                     dequantize_bytes(type, bytes + begin * row_bytes, (end - begin) * row_bytes,
                                      (end - begin) * columns, data + begin * columns);
                   });
  return values;
}

at::Tensor Matrix::select_rows(const at::Tensor& indices) const {
  const auto& [tensor, is_quantized, type, columns] = *weights_;
  if (!is_quantized) return at::embedding(tensor, indices);
  const auto flat = indices.reshape({-1}).to(at::kCPU, at::kLong).contiguous();
  auto shape = indices.sizes().vec();
  shape.push_back(columns);
  auto values = at::empty(shape, at::kFloat);
  const int64_t row_bytes = tensor.size(1);
  for (int64_t index = 0; index < flat.numel(); ++index)
    dequantize_bytes(type, tensor.const_data_ptr<uint8_t>() + flat.const_data_ptr<int64_t>()[index] * row_bytes,
                     row_bytes, columns, values.mutable_data_ptr<float>() + index * columns);
  return values;
}

at::Tensor Matrix::apply(const at::Tensor& x, const at::Tensor& bias) const {
  const auto& [tensor, is_quantized, type, columns] = *weights_;
  if (!is_quantized) {
    const auto out = product(x, tensor.t());
    return bias.defined() ? out + bias : out;
  }
  auto shape = x.sizes().vec();
  shape.back() = rows();
  const bool wants_gradient = at::GradMode::is_enabled() && x.requires_grad();
  const auto flat = x.reshape({-1, columns});
  auto out = wants_gradient ? QuantizedProduct::apply(flat, tensor, static_cast<int64_t>(type), columns, false)
                            : multiply_quantized(flat, false);
  if (bias.defined()) out = out + bias;
  return out.view(shape);
}

at::Tensor Matrix::multiply_quantized(const at::Tensor& x, bool is_transposed) const {
  const auto& [tensor, is_quantized, type, columns] = *weights_;
  const auto flat = x.contiguous();
  const int64_t count = flat.size(0);
  auto out = at::empty({count, is_transposed ? columns : rows()}, flat.options());
  if ((count <= few_vectors || has_independent_rows()) && !is_transposed) {
    const float* vectors = flat.const_data_ptr<float>();
    const uint8_t* bytes = tensor.const_data_ptr<uint8_t>();
    const int64_t row_bytes = tensor.size(1), stride = rows();
    float* results = out.mutable_data_ptr<float>();
    at::parallel_for(0, stride, std::max<int64_t>(1, 32768 / row_bytes),
                     [&, type = type, columns = columns](int64_t begin, int64_t end) {
                       quantized_dot(type, bytes + begin * row_bytes, end - begin, row_bytes, columns, vectors, count,
                                     results + begin, stride);
                     });
    return out;
  }
  const int64_t slice = slice_rows(rows(), columns);
  for (int64_t first = 0; first < rows(); first += slice) {
    const int64_t some = std::min(slice, rows() - first);
    const auto dense = narrow(first, some).dequantized();
    auto part = is_transposed ? out : out.narrow(1, first, some);
    if (is_transposed)
      product_into(part, flat.narrow(1, first, some), dense, first > 0 ? 1 : 0);
    else
      product_into(part, flat, dense.t());
  }
  return out;
}

void move_to(at::Tensor& tensor, at::Device device) {
  if (!tensor.defined() || tensor.device() == device) return;
  const at::NoGradGuard no_grad;
  const auto moved = tensor.detach().to(device);
  // The engine's list of types that set_data accepts lacks devices that are registered from outside.
  if (at::_has_compatible_shallow_copy_type(tensor, moved))
    tensor.set_data(moved);
  else
    tensor.unsafeGetTensorImpl()->shallow_copy_from(moved.getIntrusivePtr());
  if (tensor.grad().defined()) tensor.mutable_grad() = tensor.grad().to(device);
}

}  // namespace fwl
