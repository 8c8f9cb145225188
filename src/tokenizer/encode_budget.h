// Limits the work of one call of encode, whatever a vocabulary or its patterns ask for, and lets interrupts through.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace fwl {

// A call may take a second and ten microseconds per byte, a hundred times what published vocabularies need.
class EncodeBudget {
 public:
  EncodeBudget(const std::string& where, size_t bytes);

  // To be called for every piece of work that is at most a millisecond or so. Throws a UserError when the time is up,
  // and Interrupted after a signal.
  void spend(size_t steps = 1) {
    spent_ += steps;
    if (spent_ >= steps_between_checks) check();
  }

 private:
  static constexpr size_t steps_between_checks = 16;

  void check();

  const std::string& where_;
  double seconds_;
  std::chrono::steady_clock::time_point start_;
  double cpu_start_;
  size_t spent_ = 0;
};

}  // namespace fwl
