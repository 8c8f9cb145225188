// The softmax of attention scores, row by row over the keys that a query sees.
#pragma once

#include <cstdint>

namespace fwl {

// Exponentials of scale * (row + extra) relative to the row's greatest value, in place; extra may be null.
// Returns one over their sum.
float attention_weights(float* row, const float* extra, float scale, int64_t count);

}  // namespace fwl
