// Measures the peak speed of matrix products on a device.
#pragma once

#include <c10/core/Device.h>

namespace fwl {

// The best of a few products of 1024 x 1024 float matrices at the current number of threads; takes about 0.2 s.
double gemm_flops_per_second(c10::Device device);

}  // namespace fwl
