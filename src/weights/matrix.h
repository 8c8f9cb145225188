// The weight matrix of a linear map: dense, or quantised as in its file and never dequantised as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "kernels/quantized_rows.h"

namespace fwl {

// Copies share their weights, like copies of a tensor.
class Matrix {
 public:
  Matrix() = default;
  Matrix(at::Tensor dense);  // rows,columns; implicit, because a dense matrix is just a tensor
  // bytes: rows,row bytes (uint8), e.g. a view into a mapped file
  Matrix(at::Tensor bytes, GgufType type, int64_t columns);

  bool is_defined() const { return weights_ && weights_->tensor.defined(); }
  bool is_quantized() const { return weights_ && weights_->is_quantized; }
  int64_t rows() const { return weights_->tensor.size(0); }
  int64_t columns() const { return weights_->columns; }
  size_t bytes() const { return weights_->tensor.nbytes(); }
  GgufType type() const { return weights_->type; }
  const at::Tensor& quantized_rows() const;                   // rows,row bytes; must be quantised
  Matrix narrow(int64_t first_row, int64_t row_count) const;  // a view

  const at::Tensor& dense() const;                          // must not be quantised
  at::Tensor dequantized() const;                           // the dense tensor, or a new one in single precision
  at::Tensor select_rows(const at::Tensor& indices) const;  // … -> …,columns

  // x @ matrix^T + bias: …,columns -> …,rows. Differentiable; quantised weights are constants.
  at::Tensor apply(const at::Tensor& x, const at::Tensor& bias = {}) const;

  // Moves the weights for all copies. Quantised weights are dequantised for any device but the CPU.
  void to(at::Device device);

  QuantizedRows stored_rows() const;  // quantised, or contiguous floats on the CPU

 private:
  struct Weights {
    at::Tensor tensor;
    bool is_quantized = false;
    GgufType type = GgufType::F32;
    int64_t columns = 0;
  };
  std::shared_ptr<Weights> weights_;
};

struct MatrixWithBias {
  const Matrix& matrix;
  at::Tensor bias;  // or undefined
};
// What each gives for the same x (N,columns), in one parallel region where quantised rows are multiplied directly.
std::vector<at::Tensor> apply_side_by_side(const at::Tensor& x, const std::vector<MatrixWithBias>& maps);

// Moves a tensor for all of its copies; existing views stay on the old device.
void move_to(at::Tensor& tensor, at::Device device);

}  // namespace fwl
