// Reads texts chunk by chunk with memories in the blocks of the base, which learn from every finished chunk.
#pragma once

#include "base/base_model.h"
#include "blocks/block_pass.h"
#include "memory/fast_memory.h"
#include "model/session.h"

namespace fwl {

// Whether a session's fast weights are used, and whether reading changes them.
enum class Adaptation { off, read, write };

// A chunk is predicted with the weights of its start. It ends after the memory's number of tokens, or where the base's
// window ends: at positions that do not depend on how the text is cut into calls. A chunk that several calls have read
// is read once more for its gradient.
class BlockReader {
 public:
  // `top`: the memory on top of the base, or null; the gradient is that of the loss with its fast weights off.
  BlockReader(const BaseModel& base, const BlockMemory& memory, const FastMemory* top, Session& session,
              Adaptation adaptation, bool is_training);

  struct Part {
    at::Tensor hidden;  // B,T,D
    at::Tensor losses;  // B,T: of the targets, if the chunk was finished and there is no memory on top
  };

  int64_t room() const;  // tokens that the open chunk still takes; at least 1

  // The target of the last token read, if it was not known then.   B
  void add_target(const at::Tensor& target);
  // Reads at most room() tokens (B,T) with the known targets (B,T, or B,T-1), and weights (like the targets, or
  // undefined): 0 for tokens that the memories do not learn from.
  Part read(const at::Tensor& tokens, const at::Tensor& targets, const at::Tensor& token_weights);
  // The two steps of reading tokens whose last target is not known, for texts that are read in one pass.
  void add(const at::Tensor& tokens, const at::Tensor& targets, const at::Tensor& token_weights);
  // Learns from what is known of the open chunk and ends it, because what follows does not continue its context.
  void finish_chunk();

  BaseCall use(BlockPass& pass) const;

 private:
  // One pass over the open chunk with a graph: hidden states (B,T,D), losses (B,T), gradients.
  struct LearningPass {
    at::Tensor hidden, losses;
    BlockGradients gradients;
  };

  bool is_full() const;
  LearningPass learning_pass(bool is_outer);
  Part learn(int64_t new_tokens);
  at::Tensor counted(const at::Tensor& targets, const at::Tensor& token_weights) const;
  void clear();

  const BaseModel& base_;
  const BlockMemory& memory_;
  const FastMemory* top_;
  Session& session_;
  BlockState& open_;
  Adaptation adaptation_;
  bool is_training_;
};

}  // namespace fwl
