#include "engine/softmax_columns.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/torch.h"
#include "kernels/kernels.h"

namespace fwl {
namespace {

bool is_fast_case(const at::Tensor& block) {
  return block.is_cpu() && block.scalar_type() == at::kFloat;
}

// Divides the columns of a block among threads. Ranges start at whole cache lines.
template <class Action>
void for_each_column_range(int64_t rows, int64_t columns, Action action) {
  constexpr int64_t lanes = 16;
  const int64_t groups = (columns + lanes - 1) / lanes;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows * lanes));
  at::parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * lanes;
    action(first, std::min(end * lanes, columns) - first);
  });
}

}  // namespace

at::Tensor softmax_columns_(at::Tensor& logits, const at::Tensor& bias) {
  if (!is_fast_case(logits)) {
    if (bias.defined()) logits.add_(bias.unsqueeze(1));
    auto log_sum = at::logsumexp(logits, 0);
    logits.sub_(log_sum).exp_();
    return log_sum;
  }
  const int64_t rows = logits.size(0), columns = logits.size(1);
  auto log_sum = at::empty({columns}, logits.options());
  const auto biases = bias.defined() ? bias.contiguous() : bias;
  float* data = logits.mutable_data_ptr<float>();
  float* results = log_sum.mutable_data_ptr<float>();
  const float* bias_data = biases.defined() ? biases.const_data_ptr<float>() : nullptr;
  for_each_column_range(rows, columns, [&](int64_t first, int64_t count) {
    softmax_of_columns(data + first, rows, columns, bias_data, results + first, count);
  });
  return log_sum;
}

RunningSoftmax::RunningSoftmax(int64_t columns, const at::TensorOptions& options)
    : maxima_(at::full({columns}, -INFINITY, options)), totals_(at::zeros({columns}, options.dtype(at::kDouble))) {}

at::Tensor RunningSoftmax::log_sums() const {
  return maxima_ + totals_.log().to(maxima_.options());
}

at::Tensor RunningSoftmax::totals() const {
  return totals_.to(maxima_.options());
}

void RunningSoftmax::add(const at::Tensor& logits, const at::Tensor& bias) {
  if (!is_fast_case(logits)) {
    auto copy = logits.clone();
    exponentiate_(copy, bias);
    return;
  }
  const auto biases = bias.defined() ? bias.contiguous() : bias;
  const float* bias_data = biases.defined() ? biases.const_data_ptr<float>() : nullptr;
  const float* data = logits.const_data_ptr<float>();
  float* maxima = maxima_.mutable_data_ptr<float>();
  double* totals = totals_.mutable_data_ptr<double>();
  const int64_t rows = logits.size(0), columns = logits.size(1);
  for_each_column_range(rows, columns, [&](int64_t first, int64_t count) {
    sum_exponentials_of_tile(data + first, rows, columns, bias_data, maxima + first, totals + first, count);
  });
}

at::Tensor RunningSoftmax::exponentiate_(at::Tensor& logits, const at::Tensor& bias) {
  auto factors = at::empty_like(maxima_);
  if (!is_fast_case(logits)) {
    if (bias.defined()) logits.add_(bias.unsqueeze(1));
    const auto higher = at::maximum(maxima_, logits.amax(0));
    factors = (maxima_ - higher).exp_();
    logits.sub_(higher).exp_();
    totals_.mul_(factors).add_(logits.sum(0));
    maxima_ = higher;
    return factors;
  }
  const auto biases = bias.defined() ? bias.contiguous() : bias;
  const float* bias_data = biases.defined() ? biases.const_data_ptr<float>() : nullptr;
  float *data = logits.mutable_data_ptr<float>(), *factor_data = factors.mutable_data_ptr<float>();
  float* maxima = maxima_.mutable_data_ptr<float>();
  double* totals = totals_.mutable_data_ptr<double>();
  const int64_t rows = logits.size(0), columns = logits.size(1);
  for_each_column_range(rows, columns, [&](int64_t first, int64_t count) {
    exponentials_of_tile(data + first, rows, columns, bias_data, maxima + first, totals + first, factor_data + first,
                         count);
  });
  return factors;
}

void multiply_shifted_columns_(at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& shift) {
  if (!is_fast_case(q)) {
    q.add_(shift).mul_(probabilities);
    return;
  }
  const int64_t rows = q.size(0), columns = q.size(1);
  const auto shifts = shift.contiguous();
  const float* p = probabilities.const_data_ptr<float>();
  const float* shift_data = shifts.const_data_ptr<float>();
  float* data = q.mutable_data_ptr<float>();
  at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, columns)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row)
                       multiply_shifted_row(p + row * columns, data + row * columns, shift_data, columns);
                   });
}

}  // namespace fwl
