// Rows that give the same bits whatever rows are beside them. GEMMs sum in another order for another number of rows,
// and vector code rounds the last elements of a tensor in another way.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace fwl {

// While it lives, the rows of this thread's products with weights, and of its activations, are independent; in single
// precision on the CPU.
class IndependentRows {
 public:
  IndependentRows();
  ~IndependentRows();
  IndependentRows(const IndependentRows&) = delete;
  IndependentRows& operator=(const IndependentRows&) = delete;

 private:
  bool before_;
};
bool has_independent_rows();  // in this thread

// a @ b, without a graph.   a: …,K   b: K,N, whose rows or columns are contiguous
at::Tensor product_by_rows(const at::Tensor& a, const at::Tensor& b);

// function(x), for each row of x on its own where rows are to be independent.   x: N,…
at::Tensor by_rows(const at::Tensor& x, const std::function<at::Tensor(const at::Tensor&)>& function);

}  // namespace fwl
