// Flags of every command that runs a model: threads, device and precision.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "support/fields.h"

namespace fwl {

struct EngineFlags {
  int64_t threads = 0;  // 0: all cores
  std::string device = "cpu";
  std::string precision = "auto";
  std::string activations = "fp32";
};

void add_fields(Fields& fields, EngineFlags& flags);

// Sets the number of threads and the precision of this thread's products, and checks that the device is available.
c10::Device apply(const EngineFlags& flags);

}  // namespace fwl
