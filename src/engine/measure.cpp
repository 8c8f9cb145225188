#include "engine/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "engine/torch.h"
#include "support/heap.h"

namespace fwl {

double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

void forget_peak_memory() {
  return_freed_memory();
  std::ofstream("/proc/self/clear_refs") << "5";
}

double gemm_flops_per_second() {
  const at::NoGradGuard no_grad;
  constexpr int64_t size = 1024;
  const auto a = at::ones({size, size}), b = at::ones({size, size});
  auto out = at::empty({size, size});
  double best = 1e9;
  for (int repeat = 0; repeat < 6; ++repeat) best = std::min(best, seconds_of([&] { at::mm_out(out, a, b); }));
  return 2.0 * size * size * size / best;
}

at::Tensor zipf_tokens(int64_t rows, int64_t tokens, int64_t vocabulary_size) {
  const double range = std::log(static_cast<double>(vocabulary_size));
  const auto ranks = (at::rand({rows, tokens}, at::kDouble) * range).exp() - 1;
  return ranks.to(at::kLong).clamp(0, vocabulary_size - 1);
}

}  // namespace fwl
