#include "weights/quantized_product.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "engine/products.h"
#include "engine/row_products.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

std::atomic<Activations> chosen_activations = Activations::fp32;

// Reading the rows limits products with up to so many vectors. For more, dequantising tiles for GEMM is faster.
constexpr int64_t few_vectors = 16;

// A tile that is still in the cache of the cores when it is multiplied.
constexpr int64_t tile_bytes = 2 << 20;

// Rows that are worth a thread of their own.
constexpr int64_t bytes_per_thread = 32768;

bool rounds_vectors(const QuantizedRows& matrix) {
  return activations() == Activations::q8 && stores_integers(matrix.type) && matrix.columns % ByteVectors::group == 0;
}

at::Tensor rounded_vectors(const at::Tensor& x) {
  const auto values = ByteVectors(x.const_data_ptr<float>(), x.size(0), x.size(1)).dequantized();
  return at::tensor(values).view(x.sizes());
}

void multiply_few(const at::Tensor& x, const std::vector<QuantizedRows>& matrices, std::vector<at::Tensor>& out) {
  const int64_t count = x.size(0), columns = x.size(1);
  const float* vectors = x.const_data_ptr<float>();
  std::optional<ByteVectors> rounded;
  if (std::ranges::any_of(matrices, rounds_vectors)) rounded.emplace(vectors, count, columns);
  int64_t rows = 0, bytes = 0;
  std::vector<float*> results;
  for (size_t index = 0; index < matrices.size(); ++index) {
    rows += matrices[index].count;
    bytes += matrices[index].count * matrices[index].row_bytes;
    results.push_back(out[index].mutable_data_ptr<float>());
  }
  const int64_t grain = std::max<int64_t>(1, bytes_per_thread * rows / std::max<int64_t>(1, bytes));
  at::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    int64_t before = 0;  // rows of the matrices that have been passed
    for (size_t index = 0; index < matrices.size(); before += matrices[index].count, ++index) {
      const auto& matrix = matrices[index];
      const int64_t first = std::clamp<int64_t>(begin - before, 0, matrix.count),
                    past = std::clamp<int64_t>(end - before, 0, matrix.count);
      if (first == past) continue;
      const auto part = matrix.part(first, past - first);
      if (rounds_vectors(matrix))
        dot_rows(part, *rounded, results[index] + first, matrix.count);
      else
        dot_rows(part, vectors, count, results[index] + first, matrix.count);
    }
  });
}

// Calls action(first row, dense rows) for every tile of a matrix.
template <class Action>
void for_each_tile(const QuantizedRows& matrix, Action action) {
  const int64_t row_bytes = matrix.columns * static_cast<int64_t>(sizeof(float));
  const int64_t tile = std::clamp<int64_t>(tile_bytes / row_bytes, 1, matrix.count);
  const auto buffer = at::empty({tile, matrix.columns}, at::kFloat);
  for (int64_t first = 0; first < matrix.count; first += tile) {
    const int64_t some = std::min(tile, matrix.count - first);
    dequantize_in_parallel(matrix.part(first, some), buffer.mutable_data_ptr<float>());
    action(first, buffer.narrow(0, 0, some));
  }
}

}  // namespace

Activations activations() {
  return chosen_activations.load(std::memory_order_relaxed);
}

void set_activations(Activations activations) {
  chosen_activations = activations;
}

Activations activations_from_name(const std::string& where, const std::string& name) {
  if (name == "fp32") return Activations::fp32;
  if (name == "q8") return Activations::q8;
  fail(where, "fp32 or q8", "'" + name + "'");
}

QuantizedRows quantized_rows_of(const at::Tensor& bytes, GgufType type, int64_t columns) {
  return {type, bytes.const_data_ptr<uint8_t>(), bytes.size(0), bytes.size(1), columns};
}

std::vector<at::Tensor> multiply_quantized(const at::Tensor& given, const std::vector<QuantizedRows>& matrices) {
  const auto x = given.contiguous();
  std::vector<at::Tensor> out;
  for (const auto& matrix : matrices) out.push_back(at::empty({x.size(0), matrix.count}, x.options()));
  if (x.size(0) <= few_vectors || has_independent_rows()) {
    multiply_few(x, matrices, out);
    return out;
  }
  for (size_t index = 0; index < matrices.size(); ++index)
    for_each_tile(matrices[index], [&, vectors = rounds_vectors(matrices[index]) ? rounded_vectors(x) : x](
                                       int64_t first, const at::Tensor& rows) {
      auto part = out[index].narrow(1, first, rows.size(0));
      product_into(part, vectors, rows.t());
    });
  return out;
}

at::Tensor multiply_by_quantized_transposed(const at::Tensor& given, const QuantizedRows& matrix) {
  const auto x = given.contiguous();
  auto out = at::empty({x.size(0), matrix.columns}, x.options());
  for_each_tile(matrix, [&](int64_t first, const at::Tensor& rows) {
    product_into(out, x.narrow(1, first, rows.size(0)), rows, first > 0 ? 1 : 0);
  });
  return out;
}

void dequantize_in_parallel(const QuantizedRows& rows, float* values) {
  at::parallel_for(0, rows.count, std::max<int64_t>(1, 65536 / rows.columns), [&](int64_t begin, int64_t end) {
    dequantize_rows(rows.part(begin, end - begin), values + begin * rows.columns);
  });
}

}  // namespace fwl
