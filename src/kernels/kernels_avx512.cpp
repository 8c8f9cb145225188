// Compiled for AVX-512; see CMakeLists.txt.
#include "kernels/kernel_loops.h"

namespace fwl {

extern const KernelTable avx512_kernels = compiled_kernels;

}  // namespace fwl
