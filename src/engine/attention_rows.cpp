#include "engine/attention_rows.h"

#include <algorithm>
#include <cmath>

#include "engine/vector_math.h"

namespace fwl {
namespace {

FWL_FOR_EACH_CPU float add_and_find_maximum(float* __restrict__ row, const float* __restrict__ extra, float scale,
                                            int64_t count) {
  float maxima[vector_lanes];
  for (float& maximum : maxima) maximum = -INFINITY;
  int64_t column = 0;
  for (; column + vector_lanes <= count; column += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) {
      const float value = scale * (extra ? row[column + lane] + extra[column + lane] : row[column + lane]);
      row[column + lane] = value;
      maxima[lane] = maxima[lane] < value ? value : maxima[lane];
    }
  float result = -INFINITY;
  for (; column < count; ++column) {
    row[column] = scale * (extra ? row[column] + extra[column] : row[column]);
    result = std::max(result, row[column]);
  }
  for (const float maximum : maxima) result = std::max(result, maximum);
  return result;
}

FWL_FOR_EACH_CPU float exponentiate_and_sum(float* row, float maximum, int64_t count) {
  float sums[vector_lanes] = {};
  int64_t column = 0;
  for (; column + vector_lanes <= count; column += vector_lanes)
    for (int lane = 0; lane < vector_lanes; ++lane) {
      const float value = exp_of_non_positive(row[column + lane] - maximum);
      row[column + lane] = value;
      sums[lane] += value;
    }
  float total = 0;
  for (; column < count; ++column) total += row[column] = exp_of_non_positive(row[column] - maximum);
  for (const float sum : sums) total += sum;
  return total;
}

}  // namespace

float attention_weights(float* row, const float* extra, float scale, int64_t count) {
  const float maximum = add_and_find_maximum(row, extra, scale, count);
  return 1 / exponentiate_and_sum(row, maximum, count);
}

}  // namespace fwl
