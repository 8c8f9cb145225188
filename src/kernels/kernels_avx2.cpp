// Compiled for AVX2 and FMA; see CMakeLists.txt.
#include "kernels/kernel_loops.h"

namespace fwl {

extern const KernelTable avx2_kernels = compiled_kernels;

}  // namespace fwl
