// Locks on open files, which the kernel releases when the process ends, however it ends.
#pragma once

namespace fwl {

enum class LockKind { shared, exclusive };

// Locks the open file against other open files, also those of this process; false if another one is in the way. A lock
// that is held already changes its kind without a gap.
bool try_lock(int file, LockKind kind);

}  // namespace fwl
