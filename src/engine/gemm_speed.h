// This machine's yardstick: how fast its best matrix product is.
#pragma once

namespace fwl {

// The best of a few products of 1024 x 1024 float matrices at the present number of threads; takes about 0.2 s.
double gemm_flops_per_second();

}  // namespace fwl
