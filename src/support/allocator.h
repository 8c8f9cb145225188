// What becomes of memory that is freed.
#pragma once

namespace fwl {

// The C library returns large blocks to the system when they are freed and takes them anew, page by page, for the next
// tensor: a fifth of the time of a training step. From this call on it keeps them for what comes next. For programs, at
// their start.
void keep_freed_memory();

// Returns what lies unused, so that the process's size is again that of its data.
void return_freed_memory();

}  // namespace fwl
