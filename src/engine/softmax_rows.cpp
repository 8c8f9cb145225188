#include "engine/softmax_rows.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cmath>
#include <cstring>

namespace fwl {
namespace {

// One function body, compiled for each instruction set and chosen at load time.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FWL_FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FWL_FOR_EACH_CPU
#endif

constexpr int lanes = 16;  // independent sums, so that the compiler may keep them in vector registers

// exp(x) for x <= 0 to about 2 units in the last place: 2^n * polynomial(r), with x = n ln 2 + r.
inline float exp_of_non_positive(float x) {
  constexpr float log2_of_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float round_to_integer = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float clamped = x < -87.0F ? -87.0F : x;
  const float shifted = clamped * log2_of_e + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (clamped - n * ln2_high) - n * ln2_low;
  float sum = 1.9875691500e-4F;
  sum = sum * r + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * r * r + r + 1.0F;
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  const int32_t exponent = (bits - 0x4B400000 + 127) << 23;
  float power;
  std::memcpy(&power, &exponent, sizeof power);
  return x < -87.0F ? 0.0F : sum * power;
}

FWL_FOR_EACH_CPU float add_bias_and_find_maximum(float* row, const float* bias, int64_t count) {
  float maxima[lanes];
  for (float& maximum : maxima) maximum = -INFINITY;
  int64_t column = 0;
  for (; column + lanes <= count; column += lanes)
    for (int lane = 0; lane < lanes; ++lane) {
      const float value = bias ? row[column + lane] + bias[column + lane] : row[column + lane];
      row[column + lane] = value;
      maxima[lane] = maxima[lane] < value ? value : maxima[lane];
    }
  float result = -INFINITY;
  for (; column < count; ++column) {
    row[column] += bias ? bias[column] : 0.0F;
    result = std::max(result, row[column]);
  }
  for (const float maximum : maxima) result = std::max(result, maximum);
  return result;
}

FWL_FOR_EACH_CPU double exponentiate_and_sum(float* row, float maximum, int64_t count) {
  double total = 0;
  // Sums of a few thousand floats each, added up in double: exact enough for vocabularies of millions.
  constexpr int64_t stretch = 4096;
  for (int64_t start = 0; start < count; start += stretch) {
    const int64_t end = std::min(count, start + stretch);
    float sums[lanes] = {};
    int64_t column = start;
    for (; column + lanes <= end; column += lanes)
      for (int lane = 0; lane < lanes; ++lane) {
        const float value = exp_of_non_positive(row[column + lane] - maximum);
        row[column + lane] = value;
        sums[lane] += value;
      }
    for (; column < end; ++column) total += row[column] = exp_of_non_positive(row[column] - maximum);
    for (const float sum : sums) total += sum;
  }
  return total;
}

FWL_FOR_EACH_CPU void scale_row(float* row, float factor, int64_t count) {
  for (int64_t column = 0; column < count; ++column) row[column] *= factor;
}

FWL_FOR_EACH_CPU void multiply_shifted(const float* p, float* q, float shift, int64_t count) {
  for (int64_t column = 0; column < count; ++column) q[column] = p[column] * (q[column] + shift);
}

bool is_fast_case(const at::Tensor& rows) {
  return rows.is_cpu() && rows.scalar_type() == at::kFloat;
}

void for_each_row(int64_t rows, int64_t columns, const std::function<void(int64_t)>& action) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, columns));
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) action(row);
  });
}

}  // namespace

at::Tensor softmax_rows_(at::Tensor& logits, const at::Tensor& bias) {
  if (!is_fast_case(logits)) {
    if (bias.defined()) logits.add_(bias);
    auto log_sum = at::logsumexp(logits, 1);
    logits.sub_(log_sum.unsqueeze(1)).exp_();
    return log_sum;
  }
  const int64_t rows = logits.size(0), columns = logits.size(1);
  auto log_sum = at::empty({rows}, logits.options());
  const auto biases = bias.defined() ? bias.contiguous() : bias;
  float* data = logits.mutable_data_ptr<float>();
  float* results = log_sum.mutable_data_ptr<float>();
  const float* bias_data = biases.defined() ? biases.const_data_ptr<float>() : nullptr;
  for_each_row(rows, columns, [&](int64_t index) {
    float* row = data + index * columns;
    const float maximum = add_bias_and_find_maximum(row, bias_data, columns);
    const double sum = exponentiate_and_sum(row, maximum, columns);
    scale_row(row, static_cast<float>(1 / sum), columns);
    results[index] = static_cast<float>(maximum + std::log(sum));
  });
  return log_sum;
}

void multiply_shifted_rows_(at::Tensor& q, const at::Tensor& probabilities, const at::Tensor& shift) {
  if (!is_fast_case(q)) {
    q.add_(shift.unsqueeze(1)).mul_(probabilities);
    return;
  }
  const int64_t rows = q.size(0), columns = q.size(1), stride = probabilities.stride(0);
  const auto shifts = shift.contiguous();
  const float* p = probabilities.const_data_ptr<float>();
  const float* shift_data = shifts.const_data_ptr<float>();
  float* data = q.mutable_data_ptr<float>();
  for_each_row(rows, columns, [&](int64_t index) {
    multiply_shifted(p + index * stride, data + index * columns, shift_data[index], columns);
  });
}

}  // namespace fwl
