// Transformers that keep the keys and values of past positions, and what they do with texts longer than they can see.
#pragma once

#include "attention/attention.h"
#include "base/base_model.h"

namespace fwl {

// What happens at the end of the context: an error; every position sees the last `context_tokens` positions (needs
// relative positions); or a new window starts, that first reads the last half of the old one again.
enum class LongText { refuse, slide, restart };

LongText long_text_from_name(const std::string& name);  // refuse, slide, restart

struct ContextOptions {
  int64_t context_tokens = 0;  // 0: no end
  LongText long_text = LongText::refuse;
};

class CachedModel : public BaseModel {
 public:
  BaseState new_state(int64_t sequences) const override;
  BaseState trimmed(const BaseState& state) const override;
  std::vector<std::vector<int64_t>> memory_shapes(const BaseState& trimmed) const override;

  double attention_flops(int64_t segment_tokens) const override;

  const ContextOptions& context() const { return context_; }
  virtual void set_context(const ContextOptions& context);  // at most the model's own length

 protected:
  CachedModel(int64_t layers, int64_t heads, int64_t key_heads, int64_t head_width)
      : layers_(layers), heads_(heads), key_heads_(key_heads), head_width_(head_width) {}

  at::Tensor read_checked(const at::Tensor& tokens, BaseState& state) const override;

  // Token ids (B,T) to hidden states; `attend` is called once per layer, in order.
  virtual at::Tensor run(const at::Tensor& tokens, BaseState& state) const = 0;
  virtual VisibleKeys visible_keys() const;

  // Keeps the layer's new keys and values and attends to all that are kept.
  // queries: B,T,heads,d   keys, values: B,T,key heads,d -> B,T,heads * d
  at::Tensor attend(BaseState& state, int64_t layer, const at::Tensor& queries, const at::Tensor& keys,
                    const at::Tensor& values, double dropout = 0) const;

 private:
  void restart_window(BaseState& state) const;
  at::Tensor run_and_count(const at::Tensor& tokens, BaseState& state) const;
  void drop_unseen_keys(BaseState& state, int64_t new_tokens) const;
  void make_room(BaseState& state, int64_t new_tokens, at::Tensor& cache, const at::Tensor& like) const;

  int64_t layers_, heads_, key_heads_, head_width_;
  ContextOptions context_;
};

}  // namespace fwl
