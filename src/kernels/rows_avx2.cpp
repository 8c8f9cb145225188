// Compiled for AVX2 and FMA.
#include "kernels/row_kernels.h"

#if defined(__AVX2__)

#include "kernels/avx2.h"
#include "kernels/row_loops.h"

namespace fwl {

const RowKernels* avx2_row_kernels(GgufType type) {
  return find_row_kernels<Avx2>(type);
}

}  // namespace fwl

#else

const fwl::RowKernels* fwl::avx2_row_kernels(GgufType) {
  return nullptr;
}

#endif
