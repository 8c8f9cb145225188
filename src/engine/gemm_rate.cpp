#include "engine/gemm_rate.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>

namespace fwl {

double gemm_flops_per_second() {
  const at::NoGradGuard no_grad;
  constexpr int64_t size = 1024;
  const auto a = at::ones({size, size}), b = at::ones({size, size});
  auto out = at::empty({size, size});
  double best = 1e9;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    at::mm_out(out, a, b);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 2.0 * size * size * size / best;
}

}  // namespace fwl
