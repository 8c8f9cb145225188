// How long work tells what it has done, without printing: the caller decides what to show.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fwl {

struct ProgressEvent {
  int64_t done = 0;
  int64_t total = 0;  // 0: not known
  std::string unit;   // "bytes", "tokens", "steps"
  std::string note;   // anything worth a few words, e.g. the running loss
};

// May be empty. Called as often as the work likes; showing it is rate-limited by the receiver.
using ProgressReport = std::function<void(const ProgressEvent&)>;

}  // namespace fwl
