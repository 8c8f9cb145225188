// Hand-written inner loops over plain arrays, compiled for each instruction set and selected when the program starts.
// Single-threaded: callers divide the work among threads. No torch.
#pragma once

#include <cstdint>

namespace fwl {

float dot(const float* a, const float* b, int64_t count);

// out += factor * row
void add_scaled_row(const float* row, float factor, float* out, int64_t count);

// Softmax of scale * (row + extra) without the division, in place; extra may be null. Returns one over the sum.
float attention_weights(float* row, const float* extra, float scale, int64_t count);

// p *= factor, then s = p * (s - mean) * scale: the gradient of a row of scores.
void attention_gradient_row(float* p, float* s, float factor, float mean, float scale, int64_t count);

// Softmax of data + bias over each of `columns` columns, in place, with its log-sum-exp. bias: one per row, or null
void softmax_of_columns(float* data, int64_t rows, int64_t stride, const float* bias, float* log_sum, int64_t columns);

// q = p * (q + shift)
void multiply_shifted_row(const float* p, float* q, const float* shift, int64_t columns);

void rms_norm_row(const float* x, const float* gain, float epsilon, int64_t count, float* out);
void swiglu_row(const float* gate, const float* up, int64_t count, float* out);

// Rotates pairs of values: one from each half, or neighbours.
void rotate_halves(float* x, const float* cosines, const float* sines, int64_t half);
void rotate_neighbours(float* x, const float* cosines, const float* sines, int64_t half);

}  // namespace fwl
