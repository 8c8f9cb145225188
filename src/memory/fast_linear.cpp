#include "memory/fast_linear.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/pointwise.h"
#include "engine/products.h"
#include "engine/torch.h"

namespace fwl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Chunk {
  int64_t start, count;
};

std::vector<Chunk> cut(int64_t tokens, int64_t chunk_tokens) {
  std::vector<Chunk> chunks;
  for (int64_t start = 0; start < tokens; start += chunk_tokens)
    chunks.push_back({start, std::min(chunk_tokens, tokens - start)});
  return chunks;
}

at::Tensor part_of(const at::Tensor& tensor, const Chunk& chunk) {
  return tensor.narrow(1, chunk.start, chunk.count);
}

at::Tensor transposed(const at::Tensor& tensor) {
  return tensor.transpose(1, 2);
}

// a_c @ b_c^T below the diagonal: B,C,C
at::Tensor strict_scores(const at::Tensor& a, const at::Tensor& b) {
  auto scores = at::empty({a.size(0), a.size(1), b.size(1)}, a.options());
  product_into(scores, a, transposed(b));
  return scores.tril_(-1);
}

at::Tensor strict_weights(const at::Tensor& query, const at::Tensor& key, double matrix_step, double bias_step) {
  auto scores = at::empty({query.size(0), query.size(1), key.size(1)}, query.options());
  product_into(scores, query, transposed(key));
  strict_lower_affine_(scores, matrix_step, bias_step);
  return scores;
}

double number(const at::Tensor& scalar) {
  return scalar.item<double>();
}

// Runs action(first, count) over all sequences. If there are enough, each runs on one thread, so that products do not
// synchronise and a sequence's sums stay in the cache of its core; otherwise all run at once.
void for_each_group(const at::Tensor& like, const std::function<void(int64_t, int64_t)>& action) {
  const int64_t sequences = like.size(0);
  if (!like.is_cpu() || sequences < at::get_num_threads()) return action(0, sequences);
  const at::ThreadLocalState state;
  const auto precision = product_precision();
  at::parallel_for(0, sequences, 1, [&](int64_t begin, int64_t end) {
    const at::ThreadLocalStateGuard guard(state);
    const PrecisionScope scope(precision);
    for (int64_t index = begin; index < end; ++index) action(index, 1);
  });
}

// Tensors of a group of sequences: B,T,K  B,T,K  B,T,N and the sums before the first chunk.
struct GroupInput {
  at::Tensor query, key, gradient, matrix_sum, bias_sum;

  GroupInput(const variable_list& all, int64_t first, int64_t count)
      : query(all[0].narrow(0, first, count)),
        key(all[1].narrow(0, first, count)),
        gradient(all[2].narrow(0, first, count)),
        matrix_sum(all[3].narrow(0, first, count)),
        bias_sum(all[4].narrow(0, first, count)) {}
};

// Subtracts the updates of earlier chunks and tokens from `value`, and adds these tokens to the sums.
void read_group(const GroupInput& in, double alpha, double beta, const std::vector<Chunk>& chunks,
                const at::Tensor& value, at::Tensor& sum, const at::Tensor& vector_sum) {
  for (const auto& chunk : chunks) {
    const auto q = part_of(in.query, chunk), k = part_of(in.key, chunk), u = part_of(in.gradient, chunk);
    auto out = part_of(value, chunk);
    product_into(out, strict_weights(q, k, alpha, beta), u, 1, -1);
    if (alpha != 0) product_into(out, q, sum, 1, -alpha);
    out.sub_(vector_sum.unsqueeze(1), beta);
    product_into(sum, transposed(k), u, 1);
    vector_sum.add_(u.sum(1));
  }
}

// The results of a group's backward pass.
struct GroupGradients {
  at::Tensor query, key, gradient;    // B,T,K  B,T,K  B,T,N; the last two undefined if not needed
  at::Tensor sum, vector_sum;         // B,K,N  B,N: upstream of the sums after the group's tokens, and then before them
  at::Tensor matrix_step, bias_step;  // one number each
};

// With g upstream of the value, S_c the sum before chunk c and R_c upstream of the sum after it:
//   dq_c = -alpha (P k_c + g_c S_c^T)      P = (g_c u_c^T) strictly below the diagonal
//   dk_c = -alpha P^T q_c + u_c R_c^T      du_c = -A^T g_c + k_c R_c + r_c      A = alpha q_c k_c^T + beta, masked
// S_c is recomputed in a forward pass and R_c accumulated in a backward pass, so that no state per chunk is kept.
void backward_group(const GroupInput& in, double alpha, double beta, const std::vector<Chunk>& chunks,
                    const at::Tensor& upstream, GroupGradients& gradients) {
  auto sum = in.matrix_sum.clone(), vector_sum = in.bias_sum.clone();
  std::vector<at::Tensor> pair_products;  // P of each chunk: B,C,C
  for (const auto& chunk : chunks) {
    const auto q = part_of(in.query, chunk), k = part_of(in.key, chunk), u = part_of(in.gradient, chunk);
    const auto g = part_of(upstream, chunk);
    pair_products.push_back(strict_scores(g, u));
    auto dq = part_of(gradients.query, chunk);
    product_into(dq, pair_products.back(), k);
    product_into(dq, g, transposed(sum), 1);
    gradients.matrix_step.sub_((q * dq).sum());
    gradients.bias_step.sub_(pair_products.back().sum() + (g.sum(1) * vector_sum).sum());
    product_into(sum, transposed(k), u, 1);
    vector_sum.add_(u.sum(1));
  }
  gradients.query.mul_(-alpha);
  for (size_t index = chunks.size(); index-- > 0;) {
    const auto& chunk = chunks[index];
    const auto q = part_of(in.query, chunk), k = part_of(in.key, chunk), u = part_of(in.gradient, chunk);
    const auto g = part_of(upstream, chunk);
    if (gradients.key.defined()) {
      auto dk = part_of(gradients.key, chunk), du = part_of(gradients.gradient, chunk);
      product_into(dk, transposed(pair_products[index]), q, 0, -alpha);
      product_into(dk, u, transposed(gradients.sum), 1);
      product_into(du, transposed(strict_weights(q, k, alpha, beta)), g, 0, -1);
      product_into(du, k, gradients.sum, 1);
      du.add_(gradients.vector_sum.unsqueeze(1));
    }
    if (alpha != 0) product_into(gradients.sum, transposed(q), g, 1, -alpha);
    gradients.vector_sum.sub_(g.sum(1), beta);
  }
}

class FastLinearChunked : public torch::autograd::Function<FastLinearChunked> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& slow, const at::Tensor& query,
                               const at::Tensor& key, const at::Tensor& gradient, const at::Tensor& matrix_sum,
                               const at::Tensor& bias_sum, const at::Tensor& matrix_step, const at::Tensor& bias_step,
                               int64_t chunk_tokens) {
    const double alpha = number(matrix_step), beta = number(bias_step);
    const auto value = slow.clone(at::MemoryFormat::Contiguous);         // B,T,N
    const auto sum = matrix_sum.clone(), vector_sum = bias_sum.clone();  // B,K,N and B,N
    const auto chunks = cut(query.size(1), chunk_tokens);
    for_each_group(query, [&](int64_t first, int64_t count) {
      auto own_sum = sum.narrow(0, first, count);
      read_group({{query, key, gradient, matrix_sum, bias_sum}, first, count}, alpha, beta, chunks,
                 value.narrow(0, first, count), own_sum, vector_sum.narrow(0, first, count));
    });
    context->save_for_backward({query, key, gradient, matrix_sum, bias_sum, matrix_step, bias_step});
    context->saved_data["chunk_tokens"] = chunk_tokens;
    context->set_materialize_grads(false);
    return {value, sum, vector_sum};
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto saved = context->get_saved_variables();
    const auto &query = saved[0], &key = saved[1], &gradient = saved[2];
    const double alpha = number(saved[5]), beta = number(saved[6]);
    const auto chunks = cut(query.size(1), context->saved_data["chunk_tokens"].toInt());
    const auto upstream = upstreams[0].defined() ? upstreams[0].contiguous() : at::zeros_like(gradient);  // B,T,N
    const auto start = [](const at::Tensor& given, const at::Tensor& like) {
      return given.defined() ? given.clone() : at::zeros_like(like);
    };
    const bool wants_past = context->needs_input_grad(2) || context->needs_input_grad(3);
    const int64_t sequences = query.size(0);
    const GroupGradients all{at::empty(query.sizes(), query.options()),
                             wants_past ? at::empty(key.sizes(), key.options()) : at::Tensor(),
                             wants_past ? at::empty(gradient.sizes(), gradient.options()) : at::Tensor(),
                             start(upstreams[1], saved[3]),
                             start(upstreams[2], saved[4]),
                             at::zeros({sequences}, saved[5].options()),
                             at::zeros({sequences}, saved[6].options())};
    for_each_group(query, [&](int64_t first, int64_t count) {
      const auto own = [&](const at::Tensor& tensor) {
        return tensor.defined() ? tensor.narrow(0, first, count) : tensor;
      };
      GroupGradients gradients{own(all.query),      own(all.key),           own(all.gradient),   own(all.sum),
                               own(all.vector_sum), all.matrix_step[first], all.bias_step[first]};
      backward_group({saved, first, count}, alpha, beta, chunks, own(upstream), gradients);
    });
    return {upstreams[0],
            all.query,
            all.key,
            all.gradient,
            all.sum,
            all.vector_sum,
            all.matrix_step.sum().view_as(saved[5]),
            all.bias_step.sum().view_as(saved[6]),
            {}};
  }
};

}  // namespace

FastLinearOutput fast_linear_quadratic(const FastLinearInput& in) {
  const auto scores = at::matmul(in.query, transposed(in.key)) * in.matrix_step + in.bias_step;  // B,T,T
  const auto past = at::matmul(scores.tril(-1), in.gradient);
  const auto before = at::matmul(in.query, in.matrix_sum) * in.matrix_step + in.bias_sum.unsqueeze(1) * in.bias_step;
  return {in.slow - past - before, in.matrix_sum + at::matmul(transposed(in.key), in.gradient),
          in.bias_sum + in.gradient.sum(1)};
}

FastLinearOutput fast_linear_chunked(const FastLinearInput& in, int64_t chunk_tokens) {
  const auto results = FastLinearChunked::apply(in.slow, in.query, in.key, in.gradient, in.matrix_sum, in.bias_sum,
                                                in.matrix_step, in.bias_step, chunk_tokens);
  return {results[0], results[1], results[2]};
}

RunningSum running_sum(const at::Tensor& initial, const at::Tensor& values) {
  const int64_t tokens = values.size(1);
  const auto shifted = at::cat({initial.unsqueeze(1), values.narrow(1, 0, tokens - 1)}, 1);
  const auto before = shifted.cumsum(1);
  return {before, before.select(1, tokens - 1) + values.select(1, tokens - 1)};
}

}  // namespace fwl
