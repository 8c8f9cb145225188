// The weight matrix of a linear map: dense, or quantised as in its file and never dequantised as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include "files/gguf_type.h"

namespace fwl {

class Matrix {
 public:
  Matrix() = default;
  Matrix(at::Tensor dense);  // rows,columns; implicit, because a dense matrix is just a tensor
  // bytes: rows,row bytes (uint8), e.g. a view into a mapped file
  Matrix(at::Tensor bytes, GgufType type, int64_t columns);

  bool is_defined() const { return tensor_.defined(); }
  bool is_quantized() const { return is_quantized_; }
  int64_t rows() const { return tensor_.size(0); }
  int64_t columns() const { return columns_; }
  size_t bytes() const { return tensor_.nbytes(); }

  const at::Tensor& dense() const;                          // of a matrix that is not quantised
  at::Tensor dequantized() const;                           // the dense tensor, or a new one in single precision
  at::Tensor select_rows(const at::Tensor& indices) const;  // … -> …,columns

  // x @ matrix^T + bias: …,columns -> …,rows. Differentiable if the matrix is dense.
  at::Tensor apply(const at::Tensor& x, const at::Tensor& bias = {}) const;

 private:
  at::Tensor tensor_;
  bool is_quantized_ = false;
  GgufType type_ = GgufType::F32;
  int64_t columns_ = 0;
};

}  // namespace fwl
