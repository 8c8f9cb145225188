// What the hand-written kernels share: compilation for each instruction set, and an exponential that vectorises.
#pragma once

#include <cstdint>
#include <cstring>

// One function body, compiled for each instruction set and chosen at load time.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define FWL_FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FWL_FOR_EACH_CPU
#endif

namespace fwl {

// exp(x) for x <= 0 to about 2 units in the last place: 2^n * polynomial(r), with x = n ln 2 + r.
inline float exp_of_non_positive(float x) {
  constexpr float log2_of_e = 1.44269504F, ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float round_to_integer = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float clamped = x < -87.0F ? -87.0F : x;
  const float shifted = clamped * log2_of_e + round_to_integer;
  const float n = shifted - round_to_integer;
  const float r = (clamped - n * ln2_high) - n * ln2_low;
  float sum = 1.9875691500e-4F;
  sum = sum * r + 1.3981999507e-3F;
  sum = sum * r + 8.3334519073e-3F;
  sum = sum * r + 4.1665795894e-2F;
  sum = sum * r + 1.6666665459e-1F;
  sum = sum * r + 5.0000001201e-1F;
  sum = sum * r * r + r + 1.0F;
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  const int32_t exponent = (bits - 0x4B400000 + 127) << 23;
  float power;
  std::memcpy(&power, &exponent, sizeof power);
  return x < -87.0F ? 0.0F : sum * power;
}

// Independent sums or maxima, so that the compiler may keep them in vector registers.
inline constexpr int vector_lanes = 16;

}  // namespace fwl
