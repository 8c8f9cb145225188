#include "files/range_lock.h"

#include <fcntl.h>

namespace fwl {

bool try_lock(int file, LockKind kind) {
  struct flock whole {};
  whole.l_type = kind == LockKind::exclusive ? F_WRLCK : F_RDLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

}  // namespace fwl
