// A language model: base + optional fast weight layer + head + tokenizer, with one session state.
#pragma once

#include <memory>
#include <string>

#include "base/base_model.h"
#include "memory/layer.h"
#include "model/session.h"
#include "tokenizer/tokenizer.h"
#include "weights/tensor_reader.h"

namespace fwl {

// Whether a session's fast weights are used, and whether reading changes them.
enum class Adaptation { off, read, write };
Adaptation adaptation_from_name(const std::string& name);

struct ReadOptions {
  Adaptation adaptation = Adaptation::write;
  int64_t chunk_tokens = 0;      // 0: the adapter's own
  bool wants_slow_loss = false;  // beside the adapted one
};

// What sits on a base model and adapts its output. Without a layer the base's hidden states go to the head as they are.
struct Adapter {
  std::shared_ptr<const FastWeightLayer> layer;
  at::Tensor bias_log_step;  // one number: the head's bias is the only fast weight, and the layer stays slow
  int64_t chunk_tokens = 128;
};
NamedTensors adapter_parameters(const Adapter& adapter);  // "fast.U", …, "bias_only.log_step"

struct Losses {
  at::Tensor adapted;  // B,n: of each token, given all before it
  at::Tensor slow;     // B,n: the same with the fast weights off; undefined if not wanted
};

class LanguageModel {
 public:
  LanguageModel(std::shared_ptr<BaseModel> base, Adapter adapter, std::shared_ptr<const Tokenizer> tokenizer = nullptr);

  Session new_session(int64_t sequences = 1) const;
  Session new_session(int64_t sequences, const ContextOptions& context) const;

  // Reads tokens (B,T) and gives the loss of each: n = T, or T - 1 at the start of a text, whose first token nothing
  // predicts. One token at a time, in segments or whole: the same losses, the same session.
  Losses read(const at::Tensor& tokens, Session& session, const ReadOptions& options = {}) const;

  // The losses of known targets (B,T) under hidden states (B,T,D) that the base gave; moves the fast weights only.
  // token_weights: B,T or undefined; 0: the token neither updates nor scores
  Losses score(const at::Tensor& hidden, const at::Tensor& targets, Session& session, const ReadOptions& options,
               const at::Tensor& token_weights = {}) const;

  // For the token that comes next.   B,V
  at::Tensor next_logits(const Session& session, Adaptation adaptation = Adaptation::read) const;

  const BaseModel& base() const { return *base_; }
  const std::shared_ptr<BaseModel>& shared_base() const { return base_; }
  const FastWeightLayer* layer() const { return adapter_.layer.get(); }
  const Adapter& adapter() const { return adapter_; }
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }

  // `identity` names model and adapter, e.g. by their hashes: a session is refused by any other.
  void save_session(const Session& session, const std::string& path, const std::string& identity) const;
  Session load_session(const std::string& path, const std::string& identity) const;
  // The same as part of a larger file.
  void append_session(TensorMap& tensors, const Session& session) const;
  Session take_session(TensorReader& reader) const;

  NamedTensors parameters() const;  // of base and adapter

 private:
  bool is_bias_only() const { return adapter_.bias_log_step.defined(); }
  at::Tensor outputs(const at::Tensor& hidden, const Session& session, Adaptation adaptation) const;
  std::shared_ptr<const Head> head_for(const Session& session, int64_t sequence) const;
  Losses score_by_layer(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                        const ReadOptions& options, const at::Tensor& token_weights) const;
  Losses score_by_bias(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                       const at::Tensor& token_weights) const;
  // The fast bias decays as the layer's b does: at the ends of the layer's segments; 0: never.
  int64_t bias_segment_tokens() const;
  std::vector<at::Tensor> decayed_bias(const Session& session) const;
  Losses score_unchanged(const at::Tensor& hidden, const at::Tensor& targets, const Session& session,
                         const ReadOptions& options, const at::Tensor& token_weights) const;

  std::shared_ptr<BaseModel> base_;
  Adapter adapter_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace fwl
