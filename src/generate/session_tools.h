// Describes and edits session files without their model.
#pragma once

#include <string>
#include <vector>

#include "model/session_file.h"

namespace fwl {

struct SessionFacts {
  SessionHeader header;
  int64_t base_bytes = 0, fast_bytes = 0;
  struct Norm {
    std::string tensor;  // of the fast-weight state
    double norm;
  };
  std::vector<Norm> state;
};
SessionFacts describe_session(const std::string& path);

// Each replaces the file atomically; the caller holds its lock (files/file_lock.h). A damaged file is rejected and left
// unchanged.
void drop_context(const std::string& path);   // keeps the fast-weight state, forgets the KV cache and all positions
void reset_session(const std::string& path);  // clears the fast-weight state, keeps the KV cache
void decay_session(const std::string& path, double factor);  // multiplies the fast-weight state
void copy_session(const std::string& from, const std::string& to);

}  // namespace fwl
