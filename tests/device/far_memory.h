// Memory of a device that this process can address but not touch: reading or writing it ends the process.
#pragma once

#include <c10/core/Allocator.h>

namespace fwl {

c10::Allocator& far_memory();

// Where the copy operations of the device find the same bytes.
void* as_seen_by_the_device(const void* address);

}  // namespace fwl
