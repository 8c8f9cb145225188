// A language model: base + optional fast weight layer + head + tokenizer, with one session state.
#pragma once

#include <memory>
#include <string>

#include "base/base_model.h"
#include "fast/layer.h"
#include "model/session.h"
#include "text/tokenizer.h"

namespace fwl {

// Whether a session's fast weights are used, and whether reading changes them.
enum class Adaptation { off, read, write };

struct ReadOptions {
  Adaptation adaptation = Adaptation::write;
  int64_t chunk_tokens = 128;
  bool wants_slow_loss = false;  // beside the adapted one
};

struct Losses {
  at::Tensor adapted;  // B,n: of each token, given all before it
  at::Tensor slow;     // B,n: the same with the fast weights off; undefined if not wanted
};

class LanguageModel {
 public:
  // Without a layer the base's hidden states go to the head as they are. The tokenizer may be missing.
  LanguageModel(std::shared_ptr<BaseModel> base, std::shared_ptr<const FastWeightLayer> layer,
                std::shared_ptr<const Tokenizer> tokenizer);

  Session new_session(int64_t sequences = 1) const;

  // Reads tokens (B,T) and gives the loss of each: n = T, or T - 1 at the start of a text, whose first token nothing
  // predicts. One token at a time, in segments or whole: the same losses, the same session.
  Losses read(const at::Tensor& tokens, Session& session, const ReadOptions& options = {}) const;

  // For the token that comes next.   B,V
  at::Tensor next_logits(const Session& session, Adaptation adaptation = Adaptation::read) const;

  BaseModel& base() const { return *base_; }
  const FastWeightLayer* layer() const { return layer_.get(); }
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }

  // `identity` names model and adapter, e.g. by their hashes: a session is refused by any other.
  void save_session(const Session& session, const std::string& path, const std::string& identity) const;
  Session load_session(const std::string& path, const std::string& identity) const;

 private:
  at::Tensor outputs(const at::Tensor& hidden, const Session& session, Adaptation adaptation) const;
  Losses score(const at::Tensor& hidden, const at::Tensor& targets, Session& session, const ReadOptions& options) const;

  std::shared_ptr<BaseModel> base_;
  std::shared_ptr<const FastWeightLayer> layer_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace fwl
