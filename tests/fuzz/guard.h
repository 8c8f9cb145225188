// Watches over a fuzz run: crashes, hangs and huge allocations are traced to the input that caused them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fwl {

void start_guard();  // once; installs the crash report and the watchdog

// The input about to be run. Memory taken for it beyond a limit fails with std::bad_alloc; time beyond a limit ends the
// process; a crash or hang leaves the input in failing_input_path().
void guard_input(const std::string& target, int64_t index, std::string_view bytes);
void unguard();  // no input is being run

std::string failing_input_path(const std::string& target);
uint64_t peak_input_bytes();  // most memory that one input of the latest target took
}  // namespace fwl
