// Transformers that keep the keys and values of past positions, and what they do with texts longer than they can see.
#pragma once

#include "attention/attention.h"
#include "base/base_model.h"

namespace fwl {

class CachedModel : public BaseModel {
 public:
  BaseState trimmed(const BaseState& state) const override;
  std::vector<std::vector<int64_t>> cache_shapes(const BaseState& trimmed) const override;

  double attention_flops(int64_t segment_tokens) const override;

 protected:
  CachedModel(int64_t layers, int64_t heads, int64_t key_heads, int64_t head_width)
      : layers_(layers), heads_(heads), key_heads_(key_heads), head_width_(head_width) {}

  at::Tensor read_checked(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const override;
  void check_context(const ContextOptions& context) const override;

  // Token ids (B,T) to hidden states; `attend` is called once per layer, in order.
  virtual at::Tensor run(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const = 0;
  virtual VisibleKeys visible_keys(const ContextOptions& context) const;

  // Keeps the layer's new keys and values and attends to all that are kept.
  // queries: B,T,heads,d   keys, values: B,T,key heads,d -> B,T,heads * d
  at::Tensor attend(BaseState& state, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                    const at::Tensor& values, double dropout = 0) const;

 private:
  void restart_window(BaseState& state, const BaseCall& call) const;
  at::Tensor run_and_count(const at::Tensor& tokens, BaseState& state, const BaseCall& call) const;
  void drop_unseen_keys(BaseState& state, int64_t new_tokens) const;
  void make_room(BaseState& state, int64_t new_tokens, at::Tensor& cache, const at::Tensor& like) const;

  int64_t layers_, heads_, key_heads_, head_width_;
};

}  // namespace fwl
