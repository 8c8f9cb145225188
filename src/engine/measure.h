// What measurements need: a clock, the process's memory, this machine's yardstick, and words to read.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace fwl {

double seconds_of(const std::function<void()>& action);

double peak_memory_bytes();  // of this process since its start, or since the last forgetting
void forget_peak_memory();   // where the system allows it

// The best of a few products of 1024 x 1024 float matrices at the present number of threads; takes about 0.2 s.
double gemm_flops_per_second();

// Random words as frequent as in a text: rank r with a probability of about 1 / (r ln V).   B,T
at::Tensor zipf_tokens(int64_t rows, int64_t tokens, int64_t vocabulary_size);

}  // namespace fwl
