#include "engine/row_products.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/torch.h"
#include "kernels/kernels.h"

namespace fwl {
namespace {

thread_local bool are_independent = false;

constexpr int64_t values_per_thread = 32768;  // of b

// Each column of b is read once, and multiplied with all rows of a while it is in the cache.
void multiply_by_columns(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  const int64_t count = a.size(0), inner = a.size(1), columns = b.size(1), stride = b.stride(1);
  const float *rows = a.const_data_ptr<float>(), *weights = b.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  at::parallel_for(0, columns, std::max<int64_t>(1, values_per_thread / inner), [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column)
      for (int64_t row = 0; row < count; ++row)
        results[row * columns + column] = dot(rows + row * inner, weights + column * stride, inner);
  });
}

// The same for rows of b, some columns of which stay in the cache.
void multiply_by_rows(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  constexpr int64_t tile = 256;
  const int64_t count = a.size(0), inner = a.size(1), columns = b.size(1), stride = b.stride(0);
  const float *rows = a.const_data_ptr<float>(), *weights = b.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  at::parallel_for(0, (columns + tile - 1) / tile, std::max<int64_t>(1, values_per_thread / (inner * tile)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t first = begin * tile; first < std::min(end * tile, columns); first += tile)
                       for (int64_t row = 0; row < count; ++row)
                         for (int64_t index = 0; index < inner; ++index)
                           add_scaled_row(weights + index * stride + first, rows[row * inner + index],
                                          results + row * columns + first, std::min(tile, columns - first));
                   });
}

}  // namespace

IndependentRows::IndependentRows() : before_(are_independent) {
  are_independent = true;
}

IndependentRows::~IndependentRows() {
  are_independent = before_;
}

bool has_independent_rows() {
  return are_independent;
}

at::Tensor product_by_rows(const at::Tensor& a, const at::Tensor& given) {
  const auto rows = a.reshape({-1, a.size(-1)}).contiguous();  // N,K
  const bool has_columns = given.stride(0) == 1 && given.stride(1) >= given.size(0);
  const auto b = has_columns || given.stride(1) == 1 ? given : given.contiguous();
  auto out = at::zeros({rows.size(0), b.size(1)}, rows.options());
  has_columns ? multiply_by_columns(rows, b, out) : multiply_by_rows(rows, b, out);
  auto shape = a.sizes().vec();
  shape.back() = b.size(1);
  return out.view(shape);
}

at::Tensor by_rows(const at::Tensor& x, const std::function<at::Tensor(const at::Tensor&)>& function) {
  if (!are_independent || x.size(0) == 1) return function(x);
  std::vector<at::Tensor> rows;
  for (int64_t row = 0; row < x.size(0); ++row) rows.push_back(function(x.narrow(0, row, 1)));
  return at::cat(rows);
}

}  // namespace fwl
