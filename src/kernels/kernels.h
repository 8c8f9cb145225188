// The hand-written inner loops: plain loops over plain numbers, compiled for each instruction set and chosen when the
// program starts. Torch-free; what surrounds them cuts the work for the threads.
#pragma once

#include <cstdint>

namespace fwl {

float dot(const float* a, const float* b, int64_t count);

// Exponentials of scale * (row + extra) relative to the row's greatest value, in place; extra may be null.
// Returns one over their sum.
float attention_weights(float* row, const float* extra, float scale, int64_t count);

// p *= factor, and then s = p * (s - mean) * scale: the gradient of a row of scores.
void attention_gradient_row(float* p, float* s, float factor, float mean, float scale, int64_t count);

// Softmax of data + bias (one per row, or null) down each of `columns` columns, in place, with each one's log-sum-exp.
void softmax_of_columns(float* data, int64_t rows, int64_t stride, const float* bias, float* log_sum, int64_t columns);

// q = p * (q + shift)
void multiply_shifted_row(const float* p, float* q, const float* shift, int64_t columns);

void rms_norm_row(const float* x, const float* gain, float epsilon, int64_t count, float* out);
void swiglu_row(const float* gate, const float* up, int64_t count, float* out);

// Turns pairs of numbers, one from each half or neighbours.
void rotate_halves(float* x, const float* cosines, const float* sines, int64_t half);
void rotate_neighbours(float* x, const float* cosines, const float* sines, int64_t half);

}  // namespace fwl
