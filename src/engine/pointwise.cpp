#include "engine/pointwise.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <cmath>

#include "engine/vector_math.h"

namespace fwl {
namespace {

bool can_use_kernel(const at::Tensor& x, const at::Tensor& other) {
  const bool wants_gradient = at::GradMode::is_enabled() && (x.requires_grad() || other.requires_grad());
  return !wants_gradient && x.is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous() && other.is_contiguous();
}

// Few enough numbers for one thread: starting others would take longer.
void for_each_row(int64_t rows, int64_t width, const std::function<void(int64_t, int64_t)>& action) {
  at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), action);
}

FWL_FOR_EACH_CPU void rms_norm_row(const float* __restrict__ x, const float* __restrict__ gain, float epsilon,
                                   int64_t count, float* __restrict__ out) {
  float sums[vector_lanes] = {};
  int64_t index = 0;
  for (; index + vector_lanes <= count; index += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) sums[lane] += x[index + lane] * x[index + lane];
  float total = 0;
  for (; index < count; ++index) total += x[index] * x[index];
  for (const float sum : sums) total += sum;
  const float factor = 1 / std::sqrt(total / static_cast<float>(count) + epsilon);
  for (index = 0; index < count; ++index) out[index] = x[index] * factor * gain[index];
}

FWL_FOR_EACH_CPU void swiglu_row(const float* __restrict__ gate, const float* __restrict__ up, int64_t count,
                                 float* __restrict__ out) {
  for (int64_t index = 0; index < count; ++index) {
    // 1 / (1 + e^-g) from e^-|g|, which cannot overflow.
    const float g = gate[index], small = exp_of_non_positive(g < 0 ? g : -g);
    const float sigmoid = (g < 0 ? small : 1.0F) / (1.0F + small);
    out[index] = g * sigmoid * up[index];
  }
}

FWL_FOR_EACH_CPU void rotate_halves(float* __restrict__ x, const float* __restrict__ cosines,
                                    const float* __restrict__ sines, int64_t half) {
  for (int64_t index = 0; index < half; ++index) {
    const float first = x[index], second = x[half + index];
    x[index] = first * cosines[index] - second * sines[index];
    x[half + index] = second * cosines[index] + first * sines[index];
  }
}

FWL_FOR_EACH_CPU void rotate_neighbours(float* __restrict__ x, const float* __restrict__ cosines,
                                        const float* __restrict__ sines, int64_t half) {
  for (int64_t index = 0; index < half; ++index) {
    const float first = x[2 * index], second = x[2 * index + 1];
    x[2 * index] = first * cosines[index] - second * sines[index];
    x[2 * index + 1] = second * cosines[index] + first * sines[index];
  }
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain, double epsilon) {
  if (!can_use_kernel(x, gain)) return x * (x.square().mean(-1, true) + epsilon).rsqrt() * gain;
  auto out = at::empty_like(x);
  const int64_t width = x.size(-1), rows = x.numel() / std::max<int64_t>(1, width);
  const float *data = x.const_data_ptr<float>(), *gains = gain.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  for_each_row(rows, width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      rms_norm_row(data + row * width, gains, static_cast<float>(epsilon), width, results + row * width);
  });
  return out;
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (!can_use_kernel(gate, up)) return at::silu(gate) * up;
  auto out = at::empty_like(gate);
  const float *gates = gate.const_data_ptr<float>(), *ups = up.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  at::parallel_for(0, gate.numel(), 16384, [&](int64_t begin, int64_t end) {
    swiglu_row(gates + begin, ups + begin, end - begin, results + begin);
  });
  return out;
}

RotaryAngles rotary_angles(const at::Tensor& frequencies, int64_t first, int64_t count) {
  const auto positions = at::arange(first, first + count, frequencies.options());  // count
  const auto angles = at::outer(positions, frequencies);                           // count,d/2
  return {angles.cos().to(at::kFloat), angles.sin().to(at::kFloat)};
}

at::Tensor rotate_(at::Tensor x, const RotaryAngles& angles, RotaryPairs pairs) {
  const int64_t half = x.size(3) / 2;
  if (!can_use_kernel(x, angles.cosines)) {
    const auto cosines = angles.cosines.to(x.options()).unsqueeze(1), sines = angles.sines.to(x.options()).unsqueeze(1);
    const bool is_halves = pairs == RotaryPairs::halves;
    const auto paired = x.unflatten(3, is_halves ? std::vector<int64_t>{2, half} : std::vector<int64_t>{half, 2});
    const int64_t side = is_halves ? 3 : 4;
    const auto first = paired.select(side, 0), second = paired.select(side, 1);  // B,T,heads,d/2
    return at::stack({first * cosines - second * sines, second * cosines + first * sines}, side).flatten(3);
  }
  const int64_t tokens = x.size(1), heads = x.size(2), width = x.size(3);
  float* data = x.mutable_data_ptr<float>();
  const float *cosines = angles.cosines.const_data_ptr<float>(), *sines = angles.sines.const_data_ptr<float>();
  const auto rotate_row = pairs == RotaryPairs::halves ? rotate_halves : rotate_neighbours;
  for_each_row(x.size(0) * tokens, heads * width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t head = 0; head < heads; ++head)
        rotate_row(data + (row * heads + head) * width, cosines + row % tokens * half, sines + row % tokens * half,
                   half);
  });
  return x;
}

}  // namespace fwl
