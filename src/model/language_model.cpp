#include "model/language_model.h"

#include <fmt/format.h>

#include "engine/reading_window.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// Without gradients a long text goes through in windows; with them in one piece, because what is cut off gets none.
int64_t window_tokens(int64_t tokens) {
  return at::GradMode::is_enabled() ? tokens : reading_window_tokens;
}

// The losses of consecutive windows, joined.
class LossParts {
 public:
  void add(const Losses& losses) {
    adapted_.push_back(losses.adapted);
    if (losses.slow.defined()) slow_.push_back(losses.slow);
  }
  Losses joined(const at::Tensor& nothing) const {
    if (adapted_.empty()) return {nothing, {}};
    return {at::cat(adapted_, 1), slow_.empty() ? at::Tensor() : at::cat(slow_, 1)};
  }

 private:
  std::vector<at::Tensor> adapted_, slow_;
};

}  // namespace

Adaptation adaptation_from_name(const std::string& name) {
  if (name == "off") return Adaptation::off;
  if (name == "read") return Adaptation::read;
  if (name == "write") return Adaptation::write;
  fail("adapt", "off, read or write", "'" + name + "'");
}

Session Session::clone() const {
  return {base.clone(), fast.clone(), last_hidden.defined() ? last_hidden.clone() : at::Tensor(), sampler};
}

void Session::detach() {
  fast = fast.detach();
}

size_t Session::bytes() const {
  return base.bytes() + fast.bytes() + (last_hidden.defined() ? last_hidden.nbytes() : 0);
}

LanguageModel::LanguageModel(std::shared_ptr<BaseModel> base, std::shared_ptr<const FastMemory> memory,
                             std::shared_ptr<const Tokenizer> tokenizer)
    : base_(std::move(base)), memory_(std::move(memory)), tokenizer_(std::move(tokenizer)) {}

NamedTensors LanguageModel::parameters() const {
  auto all = base_->parameters();
  if (memory_)
    for (auto& named : memory_->parameters()) all.push_back(std::move(named));
  return all;
}

Session LanguageModel::new_session(int64_t sequences) const {
  return new_session(sequences, base_->default_context());
}

Session LanguageModel::new_session(int64_t sequences, const ContextOptions& context) const {
  return {base_->new_state(sequences, context), {}, {}, {}};
}

Losses LanguageModel::read(const at::Tensor& given, Session& session, const ReadOptions& options) const {
  const auto tokens = given.to(base_->device());
  const int64_t window = window_tokens(tokens.size(-1));
  LossParts parts;
  for (int64_t start = 0; start == 0 || start < tokens.size(-1); start += window) {
    const auto part = tokens.slice(-1, start, start + window);
    const auto hidden = base_->read(part, session.base, {options.is_training});  // B,T,D
    const bool is_start = !session.last_hidden.defined();
    const auto known = hidden.slice(1, 0, hidden.size(1) - 1);
    const auto predicting = is_start ? known : at::cat({session.last_hidden.unsqueeze(1), known}, 1);  // B,n,D
    session.last_hidden = hidden.select(1, hidden.size(1) - 1).detach().clone();
    if (predicting.size(1) == 0) continue;
    parts.add(score(predicting, part.slice(1, is_start ? 1 : 0).to(at::kLong), session, options));
  }
  return parts.joined(at::empty({session.sequences(), 0}, base_->options()));
}

Losses LanguageModel::read_targets(const at::Tensor& inputs, const at::Tensor& given_targets, Session& session,
                                   const ReadOptions& options, int64_t first_scored,
                                   const at::Tensor& token_weights) const {
  const auto targets = given_targets.to(base_->device());
  const int64_t tokens = inputs.size(1), window = window_tokens(tokens);
  LossParts parts;
  for (int64_t start = 0; start < tokens; start += window) {
    const int64_t end = std::min(tokens, start + window), scored = std::max(start, first_scored);
    const auto hidden = base_->read(inputs.slice(1, start, end), session.base, {options.is_training});  // B,T,D
    if (scored >= end) continue;
    const auto weights =
        token_weights.defined() ? token_weights.slice(1, scored - first_scored, end - first_scored) : token_weights;
    parts.add(
        score(hidden.slice(1, scored - start), targets.slice(1, scored, end).contiguous(), session, options, weights));
  }
  return parts.joined(at::empty({session.sequences(), 0}, base_->options()));
}

Losses LanguageModel::score(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                            const ReadOptions& options, const at::Tensor& token_weights) const {
  const auto head = base_->head();
  if (!memory_) {
    const auto losses = masked_loss(*head, hidden, targets, token_weights);
    return {losses, losses};
  }
  if (options.adaptation == Adaptation::write) {
    MemoryCall call;
    call.token_weights = token_weights;
    call.chunk_tokens = options.chunk_tokens;
    call.wants_slow_loss = options.wants_slow_loss;
    call.leaves_last_segment_open = at::GradMode::is_enabled();
    const auto losses = memory_->read(hidden, targets, head, call, session.fast);
    return {losses.fast, options.wants_slow_loss ? losses.slow : at::Tensor()};
  }
  const auto slow = [&] { return memory_->loss(hidden, targets, head, {}, token_weights); };
  if (options.adaptation == Adaptation::off || !session.fast.is_defined()) {
    const auto losses = slow();
    return {losses, losses};
  }
  return {memory_->loss(hidden, targets, head, session.fast, token_weights),
          options.wants_slow_loss ? slow() : at::Tensor()};
}

at::Tensor LanguageModel::next_logits(const Session& session, Adaptation adaptation) const {
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  if (!memory_) return base_->head()->logits(session.last_hidden);
  return memory_->logits(session.last_hidden, base_->head(),
                         adaptation == Adaptation::off ? FastState{} : session.fast);
}

}  // namespace fwl
