// The flags that every command with a model takes: threads and device.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "support/fields.h"

namespace fwl {

struct EngineFlags {
  int64_t threads = 0;  // 0: all cores
  std::string device = "cpu";
};

void add_fields(Fields& fields, EngineFlags& flags);

// Sets the number of threads, and checks that the device is there.
c10::Device apply(const EngineFlags& flags);

}  // namespace fwl
