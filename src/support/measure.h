// What measurements need: a clock, and the memory of this process.
#pragma once

#include <functional>

namespace fwl {

double seconds_of(const std::function<void()>& action);

double peak_memory_bytes();  // of this process since its start, or since the last reset
void reset_peak_memory();    // where the system allows it

}  // namespace fwl
