// Work that may end in the middle when an interrupt comes, because nobody needs what it leaves behind.
#pragma once

namespace fwl {

// While one exists in a thread, long computations of this thread throw Interrupted between their parts. States that
// they were changing are then worthless.
class DiscardableWork {
 public:
  DiscardableWork();
  ~DiscardableWork();
  DiscardableWork(const DiscardableWork&) = delete;
  DiscardableWork& operator=(const DiscardableWork&) = delete;
};

// For the parts of long computations: does nothing where no DiscardableWork exists.
void end_if_discarded();

}  // namespace fwl
