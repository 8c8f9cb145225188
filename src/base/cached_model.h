// Transformers with a KV cache, and how they read texts longer than their context.
#pragma once

#include "attention/attention.h"
#include "base/base_model.h"

namespace fwl {

class CachedModel : public BaseModel {
 public:
  BaseState trimmed(const BaseState& state) const override;
  std::vector<std::vector<int64_t>> cache_shapes(const BaseState& trimmed) const override;

  double attention_flops(int64_t segment_tokens) const override;
  int64_t window_room(const BaseState& state) const override;
  void rewind(BaseState& state, int64_t tokens) const override;

 protected:
  CachedModel(int64_t layers, int64_t heads, int64_t kv_heads, int64_t head_size)
      : layers_(layers), heads_(heads), kv_heads_(kv_heads), head_size_(head_size) {}

  std::vector<at::Tensor> read_checked(const std::vector<TokenSpan>& spans, const BaseCall& call) const override;
  void check_context(const ContextOptions& context) const override;

  // Token ids to hidden states (N,D); `attend` is called once per layer, in order.
  virtual at::Tensor run(const TokenRows& rows, const BaseCall& call) const = 0;
  virtual VisibleKeys visible_keys(const ContextOptions& context, int64_t layer) const;
  virtual int64_t window_tokens(int64_t) const { return 0; }  // that a position of the layer sees; 0: the context

  // Appends the layer's new keys and values to each state's cache, and attends to all of them.
  // queries: N,heads,d   keys, values: N,kv heads,d -> N,heads * d
  at::Tensor attend(const TokenRows& rows, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                    const at::Tensor& values, double dropout = 0) const;

 private:
  struct Reading;
  void check_length(const TokenSpan& span) const;
  TokenSpan next_part(Reading& reading) const;
  void run_pass(const std::vector<Reading*>& readings, const BaseCall& call) const;
  void count_layer_tokens(BaseState& state) const;
  int64_t needed_tokens(const BaseState& state, int64_t layer) const;
  void drop_unseen_keys(BaseState& state, int64_t layer, int64_t new_tokens) const;
  at::Tensor attend_span(BaseState& state, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                         const at::Tensor& values, double dropout) const;

  int64_t layers_, heads_, kv_heads_, head_size_;
};

}  // namespace fwl
