// Compiled for AVX-512 with VNNI, which differs from AVX-512 in products of bytes.
#include "kernels/row_kernels.h"

#if defined(__AVX512VNNI__)

#include "kernels/avx512.h"
#include "kernels/row_loops.h"

namespace fwl {
namespace {

struct Avx512Vnni : Avx512 {
  static __m256i byte_products(__m256i unsigned_bytes, __m256i signed_bytes) {
    return _mm256_dpbusd_epi32(_mm256_setzero_si256(), unsigned_bytes, signed_bytes);
  }
};

}  // namespace

const RowKernels* avx512_vnni_row_kernels(GgufType type) {
  return find_row_kernels<Avx512Vnni>(type);
}

}  // namespace fwl

#else

const fwl::RowKernels* fwl::avx512_vnni_row_kernels(GgufType) {
  return nullptr;
}

#endif
