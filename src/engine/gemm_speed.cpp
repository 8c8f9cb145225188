#include "engine/gemm_speed.h"

#include <algorithm>

#include "engine/device.h"
#include "engine/torch.h"

namespace fwl {

double gemm_flops_per_second(c10::Device device) {
  const at::NoGradGuard no_grad;
  constexpr int64_t size = 1024;
  const auto a = at::ones({size, size}, device), b = at::ones({size, size}, device);
  auto out = at::empty({size, size}, device);
  double best = 1e9;
  for (int repeat = 0; repeat < 6; ++repeat) best = std::min(best, seconds_on(device, [&] { at::mm_out(out, a, b); }));
  return 2.0 * size * size * size / best;
}

}  // namespace fwl
