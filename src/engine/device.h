// The devices that tensors can be on, and clocks that wait for their work.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>

namespace fwl {

// A device that the engine knows and that can be used here: cpu, cuda, cuda:1, … Throws a UserError otherwise; `where`
// names the setting.
c10::Device device_from_name(const std::string& where, const std::string& name);

// Devices work behind the caller's back. Returns when they have done everything they were asked to.
void wait_for(c10::Device device);

double seconds_on(c10::Device device, const std::function<void()>& action);

}  // namespace fwl
