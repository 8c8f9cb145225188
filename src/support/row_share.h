// Which rows of a batch one of several ranks works on.
#pragma once

#include <cstdint>

namespace fwl {

// Rows [first, first + count): the shares of all ranks in order make the whole, and differ by at most one row.
struct RowShare {
  int64_t first = 0, count = 0;
  bool has(int64_t row) const { return row >= first && row < first + count; }
};

inline RowShare row_share(int64_t rows, int64_t rank, int64_t size) {
  const int64_t first = rows * rank / size;
  return {first, rows * (rank + 1) / size - first};
}

}  // namespace fwl
