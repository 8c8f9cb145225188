// The features of this CPU, and a workaround for CPUs that claim AMX but lack it.
#pragma once

#include <string>

namespace fwl {

struct CpuFeatures {
  std::string name;
  bool avx2 = false;
  bool avx512 = false;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  // Some virtual machines announce AMX but leave out its palette (CPUID leaf 0x1D): using it is an illegal instruction.
  bool is_amx_broken = false;
};

const CpuFeatures& cpu_features();
std::string to_string(const CpuFeatures& features);

// Keeps oneDNN from choosing AMX where it is broken. Call before the first matrix product. A value of
// ONEDNN_MAX_CPU_ISA set by the user is respected.
void protect_engine_from_broken_amx();

}  // namespace fwl
