#include "model/block_reader.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

at::Tensor appended(const at::Tensor& before, const at::Tensor& added) {
  return before.defined() ? at::cat({before, added}, 1) : added;
}

int64_t columns_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.size(1) : 0;
}

}  // namespace

BlockReader::BlockReader(const BaseModel& base, const BlockMemory& memory, const FastMemory* top, Session& session,
                         Adaptation adaptation, bool is_training)
    : base_(base),
      memory_(memory),
      top_(top),
      session_(session),
      open_(session.blocks),
      adaptation_(adaptation),
      is_training_(is_training) {
  if (!open_.fast.is_defined()) open_.fast = memory.new_state(session.sequences());
}

int64_t BlockReader::room() const {
  const int64_t tokens = columns_of(open_.tokens);
  if (tokens > 0) return open_.chunk_tokens - tokens;
  return std::max<int64_t>(1, std::min(memory_.options().chunk_tokens, base_.window_room(session_.base)));
}

bool BlockReader::is_full() const {
  const int64_t tokens = columns_of(open_.tokens);
  return tokens > 0 && tokens == open_.chunk_tokens && columns_of(open_.targets) == tokens;
}

at::Tensor BlockReader::counted(const at::Tensor& targets, const at::Tensor& token_weights) const {
  if (adaptation_ != Adaptation::write) return at::zeros(targets.sizes(), base_.options());
  return token_weights.defined() ? token_weights.to(base_.options()) : at::ones(targets.sizes(), base_.options());
}

void BlockReader::clear() {
  open_.tokens = open_.targets = open_.token_weights = at::Tensor();
}

BaseCall BlockReader::use(BlockPass& pass) const {
  if (adaptation_ == Adaptation::off) return {is_training_};
  pass.add(&session_.base, memory_.weights(open_.fast));
  return {is_training_, &pass};
}

void BlockReader::add_target(const at::Tensor& target) {
  if (columns_of(open_.targets) == columns_of(open_.tokens)) return;
  const auto column = target.view({-1, 1});
  open_.targets = appended(open_.targets, column);
  open_.token_weights = appended(open_.token_weights, counted(column, {}));
  if (is_full()) learn(0);
}

void BlockReader::add(const at::Tensor& tokens, const at::Tensor& targets, const at::Tensor& token_weights) {
  TORCH_CHECK(tokens.size(1) <= room(), "a part must stay within its chunk");
  if (columns_of(open_.tokens) == 0) open_.chunk_tokens = room();
  open_.tokens = appended(open_.tokens, tokens);
  open_.targets = appended(open_.targets, targets);
  open_.token_weights = appended(open_.token_weights, counted(targets, token_weights));
}

BlockReader::Part BlockReader::read(const at::Tensor& tokens, const at::Tensor& targets,
                                    const at::Tensor& token_weights) {
  const int64_t before = columns_of(open_.tokens);
  add(tokens, targets, token_weights);
  if (is_full() && open_.token_weights.gt(0).any().item<bool>()) {
    base_.rewind(session_.base, before);
    return learn(tokens.size(1));
  }
  BlockPass pass(memory_);
  const auto hidden = base_.read(tokens, session_.base, use(pass));
  if (is_full()) clear();
  return {hidden, {}};
}

void BlockReader::finish_chunk() {
  const int64_t known = columns_of(open_.targets);
  if (known > 0 && open_.token_weights.gt(0).any().item<bool>()) {
    open_.tokens = open_.tokens.slice(1, 0, known);
    learn(0);
  }
  clear();
}

// Reads the open chunk, of which the last `new_tokens` have not been read before, and moves the weights. The losses are
// those of the first pass, at the weights of the chunk's start.
BlockReader::Part BlockReader::learn(int64_t new_tokens) {
  const bool is_outer = at::GradMode::is_enabled();  // somebody will differentiate through the update
  const int64_t tokens = columns_of(open_.tokens), seen = tokens - new_tokens;
  if (is_outer && seen > 0)
    fail("training with memories in blocks", fmt::format("segments of whole chunks of {} tokens", open_.chunk_tokens),
         "a segment that ends within one");
  if (new_tokens == 0) base_.rewind(session_.base, seen);
  const auto first = learning_pass(is_outer);
  memory_.learn(open_.fast, first.gradients);
  for (int64_t pass = 1; pass < memory_.options().passes; ++pass) {
    base_.rewind(session_.base, tokens);
    memory_.learn_again(open_.fast, learning_pass(is_outer).gradients);
  }
  clear();
  const auto latest = [&](const at::Tensor& all) { return all.slice(1, seen); };
  return {latest(first.hidden), top_ ? at::Tensor() : latest(first.losses)};
}

BlockReader::LearningPass BlockReader::learning_pass(bool is_outer) {
  const auto& options = memory_.options();
  const bool is_second_order = is_outer && !options.is_first_order;
  const auto head = base_.head();
  const auto targets = open_.targets.masked_fill(open_.token_weights == 0, 0);  // B,T
  BlockPass pass(memory_);
  auto weights = memory_.weights(open_.fast);
  for (auto& weight : weights)
    if (!is_outer || !weight.requires_grad()) weight = weight.detach().requires_grad_();
  pass.add(&session_.base, weights);
  const at::AutoGradMode with_graph(true);
  const auto hidden = base_.read(open_.tokens, session_.base, {is_training_, &pass});  // B,T,D
  const auto y = top_ ? top_->adapt(hidden, {}) : hidden;                              // B,T,D
  LossAndGradient scored;
  {
    const at::AutoGradMode if_differentiated(is_outer);
    const auto rows = (is_outer ? y : y.detach()).flatten(0, 1);
    scored = head->loss_and_gradient(rows, targets.flatten());
  }
  const auto share = open_.token_weights.unsqueeze(-1) / static_cast<double>(options.chunk_tokens);  // B,T,1
  auto upstream = scored.gradient.view(y.sizes()) * share;
  if (const auto rates = memory_.token_rates(y); rates.defined()) upstream = upstream * rates;
  if (!is_second_order) upstream = upstream.detach();
  auto gradients = pass.gradients(y, upstream, open_.token_weights, is_outer, is_second_order);
  return {is_outer ? hidden : hidden.detach(), scored.loss.view(targets.sizes()), std::move(gradients)};
}

}  // namespace fwl
