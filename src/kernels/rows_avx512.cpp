// Compiled for AVX-512.
#include "kernels/row_kernels.h"

#if defined(__AVX512F__)

#include "kernels/avx512.h"
#include "kernels/row_loops.h"

namespace fwl {

const RowKernels* avx512_row_kernels(GgufType type) {
  return find_row_kernels<Avx512>(type);
}

}  // namespace fwl

#else

const fwl::RowKernels* fwl::avx512_row_kernels(GgufType) {
  return nullptr;
}

#endif
