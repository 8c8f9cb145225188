// A fast weight programmer as a memory: keys, values, queries and rates come from a slow network, writes follow the
// delta rule. It learns from hidden states alone, not from the gradient of the loss.
#pragma once

#include "memory/delta_rule.h"
#include "memory/fast_memory.h"

namespace fwl {

// y = h + normalise(o) @ output, per head o_t = q_t @ M_t; q, k = silu of a projection, of length 1.
struct DeltaParameters {
  at::Tensor query, key, value;  // D,D
  at::Tensor rate, rate_bias;    // D,heads and heads
  at::Tensor gain;               // D: of the normalised reads
  at::Tensor output;             // D,D
};

class DeltaMemory : public FastMemory {
 public:
  DeltaMemory(DeltaParameters parameters, int64_t heads, int64_t chunk_tokens);

  std::string kind() const override { return "delta-rule"; }
  NamedTensors parameters() const override;
  MemoryCost cost() const override;
  StateLayout state_layout(const Head& head) const override;

  MemoryLosses read(const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<const Head>& head,
                    const MemoryCall& call, FastState& state) const override;
  // Reads from the matrix without writing to it.
  at::Tensor adapt(const at::Tensor& hidden, const FastState& state) const override;
  // The token's own write counts before its read, as in read().
  std::unique_ptr<MemoryCursor> cursor(const FastState& state, std::shared_ptr<const Head> head) const override;

  // The output for hidden states (B,T,D), which are written as they are read; the matrix (B,heads,d,d) moves.
  at::Tensor write_and_read(const at::Tensor& hidden, Form form, int64_t chunk_tokens, at::Tensor& matrix) const;

 private:
  int64_t head_size() const { return parameters_.query.size(1) / heads_; }
  at::Tensor in_heads(const at::Tensor& x) const;  // B,T,D -> B*heads,T,d
  at::Tensor addressed(const at::Tensor& hidden, const at::Tensor& projection) const;
  at::Tensor finished(const at::Tensor& hidden, const at::Tensor& reads) const;

  DeltaParameters parameters_;
  int64_t heads_, chunk_tokens_;
};

}  // namespace fwl
