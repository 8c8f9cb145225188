// Session files looked at and changed without their model.
#pragma once

#include <string>
#include <vector>

namespace fwl {

struct SessionFacts {
  std::string architecture, model;
  int64_t texts = 1, tokens_read = 0, cached_tokens = 0;
  int64_t fast_tokens = 0;  // that moved the fast weights
  int64_t memory_bytes = 0, fast_bytes = 0;
  struct Sum {
    std::string weight;
    double norm;  // of the sum of gradients, without the step size
  };
  std::vector<Sum> sums;
};
SessionFacts describe_session(const std::string& path);

// Each writes the file anew, atomically; one that is damaged is refused and stays as it is.
void reset_session(const std::string& path);                 // forgets the fast weights, keeps the memory
void decay_session(const std::string& path, double factor);  // multiplies the sums of gradients
void copy_session(const std::string& from, const std::string& to);

}  // namespace fwl
