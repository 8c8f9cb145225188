// Progress events of long operations: the library reports them, the caller decides what to show.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fwl {

struct ProgressEvent {
  int64_t done = 0;
  int64_t total = 0;  // 0: unknown
  std::string unit;   // "bytes", "tokens", "steps"
  std::string note;   // a short remark, e.g. the running loss
};

// May be empty. May be called at any rate; the receiver limits how often it shows something.
using ProgressReport = std::function<void(const ProgressEvent&)>;

}  // namespace fwl
