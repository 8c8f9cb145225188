// How the C library's allocator treats freed memory.
#pragma once

namespace fwl {

// Makes the C library keep freed memory instead of returning it to the system. Otherwise large blocks are mapped again,
// page by page, for every tensor, which takes a fifth of a training step. Programs call this once, at their start.
void keep_freed_memory();

// Returns unused memory to the system, so that the size of the process is that of its data.
void return_freed_memory();

}  // namespace fwl
