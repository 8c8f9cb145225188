// Hand-written inner loops over plain arrays, compiled for each instruction set (instruction_set.h).
// Single-threaded: callers divide the work among threads. No torch.
#pragma once

#include <cstdint>

namespace fwl {

float dot(const float* a, const float* b, int64_t count);

// out += factor * row
void add_scaled_row(const float* row, float factor, float* out, int64_t count);

// Softmax of scale * (row + extra) without the division, in place; extra may be null. Returns one over the sum.
float attention_weights(float* row, const float* extra, float scale, int64_t count);

// exp(row - maximum), in place; no value is above the maximum. Returns the sum.
float exponentials_of_row(float* row, float maximum, int64_t count);

// p *= factor, then s = p * (s - mean) * scale: the gradient of a row of scores.
void attention_gradient_row(float* p, float* s, float factor, float mean, float scale, int64_t count);

// Softmax of data + bias over each of `columns` columns, in place, with its log-sum-exp. bias: one per row, or null
void softmax_of_columns(float* data, int64_t rows, int64_t stride, const float* bias, float* log_sum, int64_t columns);

// q = p * (q + shift)
// One tile of a softmax over more rows than are at hand: raises the maxima, turns the tile into exponentials relative
// to them, and adds those to the totals. `factors`: what exponentials of earlier tiles must be multiplied by. Maxima
// start at -infinity, totals at 0.
void exponentials_of_tile(float* tile, int64_t rows, int64_t stride, const float* bias, float* maxima, double* totals,
                          float* factors, int64_t columns);
// The same without changing the tile.
void sum_exponentials_of_tile(const float* tile, int64_t rows, int64_t stride, const float* bias, float* maxima,
                              double* totals, int64_t columns);

void multiply_shifted_row(const float* p, float* q, const float* shift, int64_t columns);

// sum += sum_r factors[r] * row r.   rows: count,columns   sum: columns
void add_weighted_rows(const float* rows, int64_t count, int64_t columns, const float* factors, float* sum);

void rms_norm_row(const float* x, const float* gain, float epsilon, int64_t count, float* out);
void swiglu_row(const float* gate, const float* up, int64_t count, float* out);

void squared_relu_row(const float* z, int64_t count, float* out);
// out = factor * 2 max(z, 0); `out` may be `factor`.
void twice_relu_row(const float* z, const float* factor, int64_t count, float* out);
void affine_row(float* x, float scale, float shift, int64_t count);  // x = x * scale + shift

// Rotates pairs of values: one from each half, or neighbours.
void rotate_halves(float* x, const float* cosines, const float* sines, int64_t half);
void rotate_neighbours(float* x, const float* cosines, const float* sines, int64_t half);

}  // namespace fwl
