#include "fuzz/fuzz_run.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>

#include "fuzz/mutate.h"
#include "support/error.h"

namespace fwl {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string fuzz_input(const FuzzTarget& target, uint64_t seed, int64_t index) {
  constexpr uint64_t spread = 0xD1342543DE82EF95U;  // odd and large, so that neighbours have unlike seeds
  auto bytes = mutate(target.seeds, seed * spread + static_cast<uint64_t>(index));
  return target.repair && index % 2 ? target.repair(std::move(bytes)) : bytes;
}

FuzzResult fuzz(const FuzzTarget& target, int64_t inputs, uint64_t seed,
                const std::function<void(int64_t, std::string_view)>& before_each) {
  FuzzResult result;
  const auto start = std::chrono::steady_clock::now();
  while (result.inputs < inputs && result.failure.empty()) {
    const auto input = fuzz_input(target, seed, result.inputs);
    if (before_each) before_each(result.inputs, input);
    const auto input_start = std::clock();
    try {
      target.run(input);
      ++result.accepted;
    } catch (const UserError&) {
      ++result.rejected;
    } catch (const std::exception& error) {
      result.failure = error.what();
      result.failing_input = input;
    }
    const auto input_seconds = static_cast<double>(std::clock() - input_start) / CLOCKS_PER_SEC;
    result.slowest_seconds = std::max(result.slowest_seconds, input_seconds);
    ++result.inputs;
  }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace fwl
