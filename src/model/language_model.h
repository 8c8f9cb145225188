// A language model: base, memory, head and tokenizer, with one session state. The one way to read a text.
#pragma once

#include <memory>
#include <string>

#include "base/base_model.h"
#include "blocks/block_memory.h"
#include "memory/fast_memory.h"
#include "model/block_reader.h"
#include "model/session.h"
#include "model/session_file.h"
#include "tokenizer/tokenizer.h"
#include "weights/tensor_reader.h"

namespace fwl {

Adaptation adaptation_from_name(const std::string& name);

struct ReadOptions {
  Adaptation adaptation = Adaptation::write;
  int64_t chunk_tokens = 0;      // 0: the memory's own
  bool wants_slow_loss = false;  // beside the adapted one
  bool is_training = false;      // dropout acts
};

struct Losses {
  at::Tensor adapted;  // B,n: of each token, given all before it
  at::Tensor slow;     // B,n: the same with the fast weights off; undefined if not wanted, or if blocks have memories
};

struct SessionTokens {
  at::Tensor tokens;  // B,T: B as in the session
  Session* session;
};

class LanguageModel {
 public:
  // Without a memory the base's hidden states go to the head as they are.
  LanguageModel(std::shared_ptr<BaseModel> base, std::shared_ptr<const FastMemory> memory,
                std::shared_ptr<const Tokenizer> tokenizer = nullptr,
                std::shared_ptr<const BlockMemory> blocks = nullptr);

  // Moves all weights; sessions that are made or loaded afterwards are on the same device.
  void to(at::Device device);
  at::Device device() const { return base_->device(); }

  Session new_session(int64_t sequences = 1) const;
  Session new_session(int64_t sequences, const ContextOptions& context) const;

  // Reads tokens (B,T) and gives the loss of each: n = T, or T - 1 at the start of a text, whose first token nothing
  // predicts. One token at a time, in segments or whole: the same losses, the same session.
  Losses read(const at::Tensor& tokens, Session& session, const ReadOptions& options = {}) const;

  // Reads several sessions in one pass of the base, each at its own position and with its own number of tokens; the
  // result is that of reading them one by one. For batches of sessions that a server keeps.
  std::vector<Losses> read(const std::vector<SessionTokens>& texts, const ReadOptions& options = {}) const;

  // Reads inputs (B,T) whose targets (B,T) are known, and gives the targets' losses (B,n) from position `first_scored`
  // on: n = T - first_scored. Earlier ones are context, which neither scores nor updates. Without gradients a long text
  // goes through in windows, so that memory does not grow with it. token_weights: B,n or undefined; 0: the token
  // neither updates nor scores
  Losses read_targets(const at::Tensor& inputs, const at::Tensor& targets, Session& session, const ReadOptions& options,
                      int64_t first_scored = 0, const at::Tensor& token_weights = {}) const;

  // The losses of known targets (B,T) under hidden states (B,T,D) that the base gave; moves the fast weights only.
  // token_weights: B,T or undefined; 0: the token neither updates nor scores
  Losses score(const at::Tensor& hidden, const at::Tensor& targets, Session& session, const ReadOptions& options,
               const at::Tensor& token_weights = {}) const;

  // Forgets the base's context but not what the fast weights have learned.
  void forget_context(Session& session) const;

  // Reads tokens (B) that follow the session's last ones, without scoring them or moving a memory on top.
  void advance(const at::Tensor& tokens, Session& session, Adaptation adaptation) const;

  // For the token that comes next.   B,V
  at::Tensor next_logits(const Session& session, Adaptation adaptation = Adaptation::read) const;

  const BaseModel& base() const { return *base_; }
  const std::shared_ptr<BaseModel>& shared_base() const { return base_; }
  const std::shared_ptr<const FastMemory>& memory() const { return memory_; }   // null: none
  const std::shared_ptr<const BlockMemory>& blocks() const { return blocks_; }  // null: none
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  const std::shared_ptr<const Tokenizer>& shared_tokenizer() const { return tokenizer_; }
  // Of all fast weights: names of step sizes and decays among the parameters, their values, drift (empty before
  // anything is read).
  std::vector<std::string> step_parameter_names() const;
  std::vector<std::pair<std::string, double>> step_sizes() const;
  std::vector<DriftFigure> drift(const Session& session) const;

  // `identity` names model and adapter, e.g. by their hashes: a session is refused by any other. `notes` are kept with
  // the session, for others (session_note).
  void save_session(const Session& session, const std::string& path, const std::string& identity,
                    CachePrecision precision = CachePrecision::full, const TextMap& notes = {}) const;
  Session load_session(const std::string& path, const std::string& identity) const;
  // The same as part of a larger file.
  void append_session(TensorMap& tensors, const Session& session,
                      CachePrecision precision = CachePrecision::full) const;
  Session take_session(TensorReader& reader) const;

  NamedTensors parameters() const;       // of base and memories
  NamedTensors fast_parameters() const;  // of the memories

 private:
  struct Reading;  // one text on its way through a call
  int64_t part_tokens(const Reading& reading) const;
  void read_part(Reading& reading, int64_t tokens) const;
  void score_part(Reading& reading, int64_t tokens, const BlockReader::Part& part) const;
  void read_side_by_side(std::vector<Reading>& readings) const;
  Losses read_to_end(Reading& reading) const;
  BlockReader block_reader(Session& session, const ReadOptions& options) const;

  std::shared_ptr<BaseModel> base_;
  std::shared_ptr<const FastMemory> memory_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const BlockMemory> blocks_;
};

}  // namespace fwl
