#include "memory/delta_rule.h"

#include <algorithm>
#include <vector>

#include "engine/torch.h"

namespace fwl {

DeltaOutput delta_rule_recurrent(const DeltaInput& in) {
  auto matrix = in.matrix;  // B,K,N
  std::vector<at::Tensor> values;
  for (int64_t t = 0; t < in.key.size(1); ++t) {
    const auto key = in.key.narrow(1, t, 1);                                     // B,1,K
    const auto correction = in.value.narrow(1, t, 1) - at::matmul(key, matrix);  // B,1,N
    const auto rate = in.rate.narrow(1, t, 1).unsqueeze(2);                      // B,1,1
    matrix = matrix + at::matmul(key.transpose(1, 2), correction * rate);
    values.push_back(at::matmul(in.query.narrow(1, t, 1), matrix));  // B,1,N
  }
  return {at::cat(values, 1), matrix};
}

// With M the matrix before the chunk and u_t = rate_t (value_t - key_t @ matrix_{t-1}) what token t writes:
//   (I + strict lower part of diag(rate) k k^T) u = diag(rate) (v - k M)
//   o = q M + (lower part of q k^T) u      M <- M + k^T u
DeltaOutput delta_rule_chunked(const DeltaInput& in, int64_t chunk_tokens) {
  auto matrix = in.matrix;
  std::vector<at::Tensor> values;
  const int64_t tokens = in.key.size(1);
  for (int64_t start = 0; start < tokens; start += chunk_tokens) {
    const int64_t count = std::min(chunk_tokens, tokens - start);
    const auto some = [&](const at::Tensor& tensor) { return tensor.narrow(1, start, count); };
    const auto q = some(in.query), k = some(in.key), v = some(in.value);  // B,C,K  B,C,K  B,C,N
    const auto rate = some(in.rate).unsqueeze(2);                         // B,C,1
    const auto transposed = k.transpose(1, 2);                            // B,K,C
    const auto system = (at::matmul(k, transposed) * rate).tril(-1) + at::eye(count, k.options());  // B,C,C
    const auto right = (v - at::matmul(k, matrix)) * rate;                                          // B,C,N
    const auto written = at::linalg_solve_triangular(system, right, false, true, true);             // B,C,N
    const auto scores = at::matmul(q, transposed).tril();                                           // B,C,C
    values.push_back(at::matmul(q, matrix) + at::matmul(scores, written));
    matrix = matrix + at::matmul(transposed, written);
  }
  return {at::cat(values, 1), matrix};
}

}  // namespace fwl
