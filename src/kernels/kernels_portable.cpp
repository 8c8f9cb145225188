// Compiled for any machine; see CMakeLists.txt.
#include "kernels/kernel_loops.h"

namespace fwl {

extern const KernelTable portable_kernels = compiled_kernels;

}  // namespace fwl
