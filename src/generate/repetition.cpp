#include "generate/repetition.h"

#include <set>
#include <vector>

namespace fwl {

Repetition repetition(std::span<const int64_t> tokens) {
  Repetition result;
  for (size_t length = 1; length <= result.distinct.size() && length <= tokens.size(); ++length) {
    std::set<std::vector<int64_t>> seen;
    const size_t places = tokens.size() - length + 1;
    for (size_t start = 0; start < places; ++start) {
      const auto part = tokens.subspan(start, length);
      seen.emplace(part.begin(), part.end());
    }
    result.distinct[length - 1] = static_cast<double>(seen.size()) / static_cast<double>(places);
  }
  return result;
}

}  // namespace fwl
