#include "engine/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"
#include "support/measure.h"

namespace fwl {
namespace {

c10::Device known_device(const std::string& where, const std::string& name) {
  try {
    return c10::Device(name);
  } catch (const c10::Error&) {
    fail(where, "cpu, cuda, cuda:1 or another device of the engine", "'" + name + "'");
  }
}

}  // namespace

c10::Device device_from_name(const std::string& where, const std::string& name) {
  const auto device = known_device(where, name);
  try {
    // Tensors say their number, so that devices can be compared.
    return at::zeros({1}).to(device).device();
  } catch (const std::exception&) {
    fail(where, fmt::format("a device of this machine (cpu{})", at::hasCUDA() ? ", cuda" : ""), "'" + name + "'",
         "this machine or this build of the engine does not have it");
  }
}

void wait_for(c10::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

double seconds_on(c10::Device device, const std::function<void()>& action) {
  wait_for(device);
  return seconds_of([&] {
    action();
    wait_for(device);
  });
}

}  // namespace fwl
