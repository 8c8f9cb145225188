#include "support/cpu.h"

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fwl {
namespace {

#if defined(__x86_64__)

struct CpuidLeaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf cpuid(unsigned leaf, unsigned subleaf = 0) {
  CpuidLeaf out;
  if (!__get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx)) return {};
  return out;
}

bool has_bit(unsigned word, int bit) {
  return (word >> bit) & 1U;
}

std::string brand_name() {
  char text[49] = {};
  for (unsigned part = 0; part < 3; ++part) {
    const auto leaf = cpuid(0x80000002U + part);
    const unsigned words[4] = {leaf.eax, leaf.ebx, leaf.ecx, leaf.edx};
    std::memcpy(text + 16 * part, words, sizeof words);
  }
  std::string name(text);
  const auto first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == std::string::npos ? "x86-64" : name.substr(first, last - first + 1);
}

CpuFeatures detect() {
  CpuFeatures features;
  features.name = brand_name();
  __builtin_cpu_init();
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  features.avx512_vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  features.avx512_bf16 = features.avx512 && has_bit(cpuid(7, 1).eax, 5);
  features.amx_bf16 = has_bit(cpuid(7, 0).edx, 22);
  const unsigned highest_leaf = __get_cpuid_max(0, nullptr);
  const bool has_palette = highest_leaf >= 0x1D && cpuid(0x1D, 0).eax != 0;
  features.is_amx_broken = features.amx_bf16 && !has_palette;
  return features;
}

#else

CpuFeatures detect() {
  CpuFeatures features;
  features.name = "not x86-64";
  return features;
}

#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string to_string(const CpuFeatures& features) {
  auto text = features.name;
  if (features.avx2) text += ", AVX2";
  if (features.avx512) text += ", AVX-512";
  if (features.avx512_vnni) text += ", AVX-512 VNNI";
  if (features.avx512_bf16) text += ", AVX-512 BF16";
  if (features.amx_bf16) text += features.is_amx_broken ? ", AMX announced but unusable (switched off)" : ", AMX BF16";
  return text;
}

void protect_engine_from_broken_amx() {
  constexpr int keep_users_choice = 0;
  if (cpu_features().is_amx_broken) setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", keep_users_choice);
}

}  // namespace fwl
