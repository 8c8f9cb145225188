// A clock and the peak memory of this process, for measurements.
#pragma once

#include <functional>

namespace fwl {

double seconds_of(const std::function<void()>& action);

double machine_memory_bytes();  // all that this machine has

double peak_memory_bytes();  // of this process since its start, or since the last reset
void reset_peak_memory();    // does nothing if the system does not allow it

}  // namespace fwl
