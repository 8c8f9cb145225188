// What this CPU offers, and protection from what it only claims to offer.
#pragma once

#include <string>

namespace fwl {

struct CpuFeatures {
  std::string name;
  bool avx2 = false;
  bool avx512 = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  // Some virtual machines announce AMX but leave out its palette (CPUID leaf 0x1D): using it is an illegal instruction.
  bool is_amx_broken = false;
};

const CpuFeatures& cpu_features();
std::string to_string(const CpuFeatures& features);

// Keeps oneDNN from choosing AMX where it is broken. Call before the engine's first matrix product; a setting that the
// user made himself (ONEDNN_MAX_CPU_ISA) is left alone.
void protect_engine_from_broken_amx();

}  // namespace fwl
