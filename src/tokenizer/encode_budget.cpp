#include "tokenizer/encode_budget.h"

#include <fmt/format.h>

#include <ctime>

#include "support/error.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

EncodeBudget::EncodeBudget(const std::string& where, size_t bytes)
    : where_(where),
      seconds_(1 + 1e-5 * static_cast<double>(bytes)),
      start_(std::chrono::steady_clock::now()),
      cpu_start_(thread_seconds()) {}

// The clock on the wall is cheap to read; time that the processor gave to others is not counted.
void EncodeBudget::check() {
  spent_ = 0;
  throw_if_interrupted();
  if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() < seconds_) return;
  if (thread_seconds() - cpu_start_ > seconds_)
    fail(where_ + ": encode", fmt::format("at most {:.1f} seconds for this text", seconds_), "more",
         "a vocabulary whose patterns or added tokens cannot be searched quickly");
}

}  // namespace fwl
