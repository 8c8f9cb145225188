#include "support/allocator.h"

#include <cstdlib>  // defines __GLIBC__

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fwl {

#ifdef __GLIBC__
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // never
}

void return_freed_memory() {
  malloc_trim(0);
}
#else
void keep_freed_memory() {}
void return_freed_memory() {}
#endif

}  // namespace fwl
