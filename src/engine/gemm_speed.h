// Measures the peak speed of matrix products on this machine.
#pragma once

namespace fwl {

// The best of a few products of 1024 x 1024 float matrices at the current number of threads; takes about 0.2 s.
double gemm_flops_per_second();

}  // namespace fwl
