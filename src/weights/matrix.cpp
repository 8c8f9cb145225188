#include "weights/matrix.h"

#include <algorithm>

#include "engine/products.h"
#include "engine/torch.h"
#include "files/quantized.h"
#include "weights/quantized_product.h"

namespace fwl {
namespace {

// A product with quantised weights or their transpose; its gradient is a product with the other one.
class QuantizedProduct : public torch::autograd::Function<QuantizedProduct> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& bytes,
                            int64_t type, int64_t columns, bool is_transposed) {
    context->saved_data["bytes"] = bytes;
    context->saved_data["type"] = type;
    context->saved_data["columns"] = columns;
    context->saved_data["is_transposed"] = is_transposed;
    const auto matrix = quantized_rows_of(bytes, static_cast<GgufType>(type), columns);
    return is_transposed ? multiply_by_quantized_transposed(x, matrix) : multiply_quantized(x, {matrix})[0];
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
  if (!is_quantized()) return weights_->tensor;
  auto values = at::empty({rows(), columns()}, at::kFloat);
  dequantize_in_parallel(stored_rows(), values.mutable_data_ptr<float>());
  return values;
}

QuantizedRows Matrix::stored_rows() const {
  const auto& tensor = weights_->tensor;
  if (is_quantized()) return quantized_rows_of(tensor, weights_->type, weights_->columns);
  return {GgufType::F32, static_cast<const uint8_t*>(tensor.const_data_ptr()), tensor.size(0),
          tensor.size(1) * static_cast<int64_t>(sizeof(float)), tensor.size(1)};
}

at::Tensor Matrix::select_rows(const at::Tensor& indices) const {
  const auto& [tensor, is_quantized, type, columns] = *weights_;
  if (!is_quantized) return at::embedding(tensor, indices);
  const auto flat = indices.reshape({-1}).to(at::kCPU, at::kLong).contiguous();
  auto shape = indices.sizes().vec();
  shape.push_back(columns);
  auto values = at::empty(shape, at::kFloat);
  const auto stored = stored_rows();
  for (int64_t index = 0; index < flat.numel(); ++index)
    dequantize_rows(stored.part(flat.const_data_ptr<int64_t>()[index], 1),
                    values.mutable_data_ptr<float>() + index * columns);
  return values;
}

at::Tensor Matrix::apply(const at::Tensor& x, const at::Tensor& bias) const {
  if (!is_quantized()) {
    const auto out = linear_product(x, weights_->tensor);
    return bias.defined() ? out + bias : out;
  }
  auto shape = x.sizes().vec();
  shape.back() = rows();
  const bool wants_gradient = at::GradMode::is_enabled() && x.requires_grad();
  const auto flat = x.reshape({-1, columns()});
  auto out = wants_gradient ? QuantizedProduct::apply(flat, weights_->tensor, static_cast<int64_t>(weights_->type),
                                                      columns(), false)
                            : multiply_quantized(flat, {stored_rows()})[0];
  if (bias.defined()) out = out + bias;
  return out.view(shape);
}

std::vector<at::Tensor> apply_side_by_side(const at::Tensor& x, const std::vector<MatrixWithBias>& maps) {
  const bool wants_gradient = at::GradMode::is_enabled() && x.requires_grad();
  const bool is_one_product = !wants_gradient && x.dim() == 2 &&
                              std::ranges::all_of(maps, [](const auto& map) { return map.matrix.is_quantized(); });
  std::vector<at::Tensor> out;
  if (!is_one_product) {
    for (const auto& [matrix, bias] : maps) out.push_back(matrix.apply(x, bias));
    return out;
  }
  std::vector<QuantizedRows> rows;
  for (const auto& map : maps) rows.push_back(map.matrix.stored_rows());
  out = multiply_quantized(x, rows);
  for (size_t index = 0; index < maps.size(); ++index)
    if (maps[index].bias.defined()) out[index].add_(maps[index].bias);
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
