#include "engine/pointwise.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/row_products.h"
#include "engine/torch.h"
#include "kernels/kernels.h"

namespace fwl {
namespace {

bool suits_kernel(const at::Tensor& x, const at::Tensor& other) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous() && other.is_contiguous();
}

bool can_use_kernel(const at::Tensor& x, const at::Tensor& other) {
  const bool wants_gradient = at::GradMode::is_enabled() && (x.requires_grad() || other.requires_grad());
  return !wants_gradient && suits_kernel(x, other);
}

// Runs small inputs on one thread, because starting others would take longer.
void for_each_row(int64_t rows, int64_t width, const std::function<void(int64_t, int64_t)>& action) {
  at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), action);
}

at::Tensor rms_norm_rows(const at::Tensor& x, const at::Tensor& gain, double epsilon) {
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

at::Tensor swiglu_rows(const at::Tensor& gate, const at::Tensor& up) {
  auto out = at::empty_like(gate);
  const float *gates = gate.const_data_ptr<float>(), *ups = up.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  at::parallel_for(0, gate.numel(), 16384, [&](int64_t begin, int64_t end) {
    swiglu_row(gates + begin, ups + begin, end - begin, results + begin);
  });
  return out;
}

// With the kernel's forward, so that hidden states do not depend on whether a gradient is needed. The gain is constant.
class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& gain,
                            double epsilon) {
    context->save_for_backward({x, gain});
    context->saved_data["epsilon"] = epsilon;
    return rms_norm_rows(x, gain, epsilon);
  }

  // With r = 1 / sqrt(mean(x^2) + epsilon) and w = gain * upstream: dx = r w - r^3 x mean(x w)
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], weighted = upstreams[0] * saved[1];
    const auto inverse = (x.square().mean(-1, true) + context->saved_data["epsilon"].toDouble()).rsqrt();
    const auto shared = inverse.pow(3) * (x * weighted).mean(-1, true);
    return {inverse * weighted - shared * x, {}, {}};
  }
};

class SwiGlu : public torch::autograd::Function<SwiGlu> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    context->save_for_backward({gate, up});
    return swiglu_rows(gate, up);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &gate = saved[0], &up = saved[1], &upstream = upstreams[0];
    const auto inner = upstream * up;
    const auto slope = [&] {
      const auto sigmoid = gate.sigmoid();
      return sigmoid * (1 + gate * (1 - sigmoid));
    };
    return {at::GradMode::is_enabled() ? inner * slope() : at::silu_backward(inner, gate), upstream * at::silu(gate)};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain, double epsilon) {
  if (can_use_kernel(x, gain)) return rms_norm_rows(x, gain, epsilon);
  if (suits_kernel(x, gain) && !gain.requires_grad()) return RmsNorm::apply(x, gain, epsilon);
  return x * (x.square().mean(-1, true) + epsilon).rsqrt() * gain;
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (can_use_kernel(gate, up)) return swiglu_rows(gate, up);
  return suits_kernel(gate, up) ? SwiGlu::apply(gate, up) : at::silu(gate) * up;
}

at::Tensor gated(GateActivation activation, const at::Tensor& gate, const at::Tensor& up) {
  if (activation == GateActivation::silu) return swiglu(gate, up);
  return by_rows(gate, [](const at::Tensor& rows) { return at::gelu(rows, "tanh"); }) * up;
}

at::Tensor squared_relu_values(const at::Tensor& z) {
  if (!can_use_kernel(z, z)) return z.clamp_min(0).square_();
  auto out = at::empty_like(z);
  const float* data = z.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  at::parallel_for(0, z.numel(), 16384,
                   [&](int64_t begin, int64_t end) { squared_relu_row(data + begin, end - begin, results + begin); });
  return out;
}

at::Tensor twice_relu_times(const at::Tensor& z, const at::Tensor& factor) {
  if (!can_use_kernel(z, factor) || factor.sizes() != z.sizes()) return z.clamp_min(0).mul_(factor).mul_(2);
  auto out = at::empty_like(z);
  const float *data = z.const_data_ptr<float>(), *factors = factor.const_data_ptr<float>();
  float* results = out.mutable_data_ptr<float>();
  at::parallel_for(0, z.numel(), 16384, [&](int64_t begin, int64_t end) {
    twice_relu_row(data + begin, factors + begin, end - begin, results + begin);
  });
  return out;
}

void strict_lower_affine_(at::Tensor& x, double scale, double shift) {
  if (!can_use_kernel(x, x)) {
    x.mul_(scale).add_(shift).tril_(-1);
    return;
  }
  const int64_t rows = x.size(1), columns = x.size(2);
  float* data = x.mutable_data_ptr<float>();
  for_each_row(x.size(0) * rows, columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t below = std::min(row % rows, columns);
      float* values = data + row * columns;
      affine_row(values, static_cast<float>(scale), static_cast<float>(shift), below);
      std::fill(values + below, values + columns, 0.0F);
    }
  });
}

RotaryAngles rotary_angles(const at::Tensor& frequencies, const at::Tensor& positions, const at::TensorOptions& options,
                           double scale) {
  const auto angles = at::outer(positions.to(frequencies.options()), frequencies);  // T,d/2
  const auto cosines = by_rows(angles, [](const at::Tensor& rows) { return rows.cos(); });
  const auto sines = by_rows(angles, [](const at::Tensor& rows) { return rows.sin(); });
  return {(cosines * scale).to(options), (sines * scale).to(options)};
}

RotaryAngles rotary_angles(const at::Tensor& frequencies, int64_t first, int64_t count) {
  return rotary_angles(frequencies, at::arange(first, first + count, at::kLong));
}

namespace {

// x: B,T,heads,d, contiguous floats on the CPU
void rotate_rows(const at::Tensor& x, const at::Tensor& cosine_table, const at::Tensor& sine_table, RotaryPairs pairs) {
  const int64_t tokens = x.size(1), heads = x.size(2), width = x.size(3), half = cosine_table.size(1);
  float* data = x.mutable_data_ptr<float>();
  const float *cosines = cosine_table.const_data_ptr<float>(), *sines = sine_table.const_data_ptr<float>();
  const auto rotate_row = pairs == RotaryPairs::halves ? rotate_halves : rotate_neighbours;
  for_each_row(x.size(0) * tokens, heads * width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t head = 0; head < heads; ++head)
        rotate_row(data + (row * heads + head) * width, cosines + row % tokens * half, sines + row % tokens * half,
                   half);
  });
}

// The gradient of a rotation is the inverse rotation.
class Rotation : public torch::autograd::Function<Rotation> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& cosines,
                            const at::Tensor& sines, int64_t pairs) {
    const auto turned = x.clone(at::MemoryFormat::Contiguous);
    rotate_rows(turned, cosines, sines, static_cast<RotaryPairs>(pairs));
    context->save_for_backward({cosines, sines});
    context->saved_data["pairs"] = pairs;
    return turned;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& upstreams) {
    const auto saved = context->get_saved_variables();
    return {Rotation::apply(upstreams[0], saved[0], saved[1].neg(), context->saved_data["pairs"].toInt()), {}, {}, {}};
  }
};

at::Tensor composed_rotation(const at::Tensor& x, const RotaryAngles& angles, RotaryPairs pairs) {
  const int64_t half = angles.cosines.size(1);
  if (2 * half < x.size(3)) {
    const auto rotated = composed_rotation(x.slice(3, 0, 2 * half), angles, pairs);
    return at::cat({rotated, x.slice(3, 2 * half)}, 3);
  }
  const auto cosines = angles.cosines.to(x.options()).unsqueeze(1), sines = angles.sines.to(x.options()).unsqueeze(1);
  const bool is_halves = pairs == RotaryPairs::halves;
  const auto paired = x.unflatten(3, is_halves ? std::vector<int64_t>{2, half} : std::vector<int64_t>{half, 2});
  const int64_t side = is_halves ? 3 : 4;
  const auto first = paired.select(side, 0), second = paired.select(side, 1);  // B,T,heads,d/2
  return at::stack({first * cosines - second * sines, second * cosines + first * sines}, side).flatten(3);
}

}  // namespace

at::Tensor rotate_(const at::Tensor& x, const RotaryAngles& angles, RotaryPairs pairs) {
  if (!x.is_cpu() || x.scalar_type() != at::kFloat) return composed_rotation(x, angles, pairs);
  if (!can_use_kernel(x, angles.cosines))
    return Rotation::apply(x, angles.cosines, angles.sines, static_cast<int64_t>(pairs));
  rotate_rows(x, angles.cosines, angles.sines, pairs);
  return x;
}

}  // namespace fwl
