#include "model/language_model.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "memory/bias_only.h"
#include "support/error.h"

namespace fwl {
namespace {

// Without gradients a long text goes through in segments, so that memory does not grow with it.
constexpr int64_t segment_tokens = 2048;

// The losses of the tokens that count, 0 for the others.   hidden: B,T,D   targets: B,T -> B,T
at::Tensor masked_loss(const Head& head, const at::Tensor& hidden, const at::Tensor& targets,
                       const at::Tensor& token_weights) {
  const auto rows = hidden.flatten(0, 1);
  if (!token_weights.defined()) return head.loss(rows, targets.reshape({-1})).view(targets.sizes());
  const auto scored = at::nonzero(token_weights.reshape({-1}) > 0).squeeze(1);
  const auto losses = at::zeros({targets.numel()}, hidden.options());
  if (scored.size(0) == 0) return losses.view(targets.sizes());
  const auto some = head.loss(rows.index_select(0, scored), targets.reshape({-1}).index_select(0, scored));
  return losses.index_copy(0, scored, some).view(targets.sizes());
}

}  // namespace

Adaptation adaptation_from_name(const std::string& name) {
  if (name == "off") return Adaptation::off;
  if (name == "read") return Adaptation::read;
  if (name == "write") return Adaptation::write;
  fail("adapt", "off, read or write", "'" + name + "'");
}

Session Session::clone() const {
  std::vector<at::Tensor> bias_copy;
  for (const auto& sums : bias) bias_copy.push_back(sums.clone());
  return {base.clone(),
          fast.is_defined() ? fast.clone() : FastState{},
          bias_copy,
          bias_tokens,
          last_hidden.defined() ? last_hidden.clone() : at::Tensor(),
          place};
}

void Session::detach() {
  if (fast.is_defined()) fast = fast.detach();
  for (auto& sums : bias) sums = sums.detach();
}

size_t Session::bytes() const {
  size_t total = base.bytes() + (last_hidden.defined() ? last_hidden.nbytes() : 0);
  if (fast.is_defined())
    for (const auto& tensor : fast.tensors()) total += tensor.nbytes();
  for (const auto& sums : bias) total += sums.nbytes();
  return total;
}

LanguageModel::LanguageModel(std::shared_ptr<BaseModel> base, Adapter adapter,
                             std::shared_ptr<const Tokenizer> tokenizer)
    : base_(std::move(base)), adapter_(std::move(adapter)), tokenizer_(std::move(tokenizer)) {
  if (layer() && layer()->parameters().slow.U.size(0) != base_->hidden_size())
    fail("fast weight layer", fmt::format("width {}, that of the base model", base_->hidden_size()),
         std::to_string(layer()->parameters().slow.U.size(0)), "a layer of another model?");
}

NamedTensors adapter_parameters(const Adapter& adapter) {
  NamedTensors all;
  if (adapter.layer) {
    const auto& parameters = adapter.layer->parameters();
    for (size_t index = 0; index < weight_names.size(); ++index)
      all.emplace_back(std::string("fast.") + weight_names[index], *parameters.slow.all()[index]);
    all.emplace_back("fast.log_steps", parameters.log_steps);
    if (parameters.decay_logits.defined()) all.emplace_back("fast.decay_logits", parameters.decay_logits);
  }
  if (adapter.bias_log_step.defined()) all.emplace_back("bias_only.log_step", adapter.bias_log_step);
  return all;
}

NamedTensors LanguageModel::parameters() const {
  auto all = base_->parameters();
  for (auto& named : adapter_parameters(adapter_)) all.push_back(std::move(named));
  return all;
}

Session LanguageModel::new_session(int64_t sequences) const {
  return new_session(sequences, base_->default_context());
}

Session LanguageModel::new_session(int64_t sequences, const ContextOptions& context) const {
  return {base_->new_state(sequences, context), {}, {}, 0, {}, {}};
}

Losses LanguageModel::read(const at::Tensor& tokens, Session& session, const ReadOptions& options) const {
  const int64_t limit = at::GradMode::is_enabled() ? tokens.size(-1) : segment_tokens;
  std::vector<at::Tensor> adapted, slow;
  for (int64_t start = 0; start == 0 || start < tokens.size(-1); start += limit) {
    const auto part = tokens.slice(-1, start, start + limit);
    const auto hidden = base_->read(part, session.base);  // B,T,D
    const bool is_start = !session.last_hidden.defined();
    const auto known = hidden.slice(1, 0, hidden.size(1) - 1);
    const auto predicting = is_start ? known : at::cat({session.last_hidden.unsqueeze(1), known}, 1);  // B,n,D
    session.last_hidden = hidden.select(1, hidden.size(1) - 1).detach().clone();
    if (predicting.size(1) == 0) continue;
    const auto losses = score(predicting, part.slice(1, is_start ? 1 : 0).to(at::kLong), session, options);
    adapted.push_back(losses.adapted);
    if (losses.slow.defined()) slow.push_back(losses.slow);
  }
  if (adapted.empty()) return {at::empty({session.sequences(), 0}), {}};
  return {at::cat(adapted, 1), slow.empty() ? at::Tensor() : at::cat(slow, 1)};
}

Losses LanguageModel::score(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                            const ReadOptions& options, const at::Tensor& token_weights) const {
  if (options.adaptation != Adaptation::write) return score_unchanged(hidden, targets, session, options, token_weights);
  if (is_bias_only()) return score_by_bias(hidden, targets, session, token_weights);
  if (layer()) return score_by_layer(hidden, targets, session, options, token_weights);
  return score_unchanged(hidden, targets, session, options, token_weights);
}

Losses LanguageModel::score_by_layer(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                                     const ReadOptions& options, const at::Tensor& token_weights) const {
  LayerCall call;
  call.token_weights = token_weights;
  call.chunk_tokens = options.chunk_tokens > 0 ? options.chunk_tokens : adapter_.chunk_tokens;
  call.wants_slow_loss = options.wants_slow_loss;
  call.leaves_last_segment_open = at::GradMode::is_enabled();
  auto output = layer()->forward(hidden, targets, base_->head(), call, session.fast);
  session.fast = std::move(output.state);
  return {output.fast_loss, options.wants_slow_loss ? output.slow_loss : at::Tensor()};
}

Losses LanguageModel::score_by_bias(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                                    const at::Tensor& token_weights) const {
  const auto y = outputs(hidden, session, Adaptation::off);
  const int64_t tokens = y.size(1), segment = bias_segment_tokens();
  std::vector<at::Tensor> fast, slow;
  for (int64_t start = 0, count = 0; start < tokens; start += count) {
    count = segment == 0 ? tokens : std::min(tokens - start, segment - session.bias_tokens % segment);
    const auto weights = token_weights.defined() ? token_weights.narrow(1, start, count) : token_weights;
    auto output = bias_only(y.narrow(1, start, count), targets.narrow(1, start, count), *base_->head(),
                            adapter_.bias_log_step, weights, decayed_bias(session));
    session.bias = std::move(output.state);
    session.bias_tokens += count;
    fast.push_back(output.fast_loss);
    slow.push_back(output.slow_loss);
  }
  return {at::cat(fast, 1), at::cat(slow, 1)};
}

int64_t LanguageModel::bias_segment_tokens() const {
  if (!layer() || !layer()->parameters().decay_logits.defined()) return 0;
  return layer()->options().gradient_at == GradientPoint::boundary ? adapter_.chunk_tokens
                                                                   : layer()->options().segment_tokens;
}

// Where a segment has ended the decay is still to come, so that it is learned from what the next segment loses by it.
std::vector<at::Tensor> LanguageModel::decayed_bias(const Session& session) const {
  const int64_t segment = bias_segment_tokens();
  auto bias = session.bias;
  if (segment == 0 || session.bias_tokens == 0 || session.bias_tokens % segment != 0) return bias;
  const auto decay = layer()->decays().b;
  for (auto& sums : bias) sums = sums * decay;
  return bias;
}

Losses LanguageModel::score_unchanged(const at::Tensor& hidden, const at::Tensor& targets, const Session& session,
                                      const ReadOptions& options, const at::Tensor& token_weights) const {
  const bool uses_state = options.adaptation != Adaptation::off;
  const auto slow = [&] {
    return masked_loss(*base_->head(), outputs(hidden, session, Adaptation::off), targets, token_weights);
  };
  Losses losses;
  if (uses_state && !session.bias.empty()) {
    const auto y = outputs(hidden, session, Adaptation::off);
    std::vector<at::Tensor> rows;
    for (int64_t index = 0; index < y.size(0); ++index)
      rows.push_back(masked_loss(*head_for(session, index), y.narrow(0, index, 1), targets.narrow(0, index, 1),
                                 token_weights.defined() ? token_weights.narrow(0, index, 1) : token_weights));
    losses.adapted = at::cat(rows);
  } else if (uses_state && layer() && session.fast.is_defined()) {
    losses.adapted = masked_loss(*base_->head(), outputs(hidden, session, options.adaptation), targets, token_weights);
  } else {
    losses.adapted = slow();
    losses.slow = losses.adapted;
  }
  if (options.wants_slow_loss && !losses.slow.defined()) losses.slow = slow();
  return losses;
}

at::Tensor LanguageModel::outputs(const at::Tensor& hidden, const Session& session, Adaptation adaptation) const {
  if (!layer()) return hidden;
  const bool uses_state = adaptation != Adaptation::off && session.fast.is_defined();
  return uses_state ? layer()->adapt(hidden, session.fast) : layer()->slow_output(hidden);
}

std::shared_ptr<const Head> LanguageModel::head_for(const Session& session, int64_t sequence) const {
  if (session.bias.empty()) return base_->head();
  std::vector<at::Tensor> sums;
  for (const auto& cluster : decayed_bias(session)) sums.push_back(cluster[sequence]);
  return moved_head(*base_->head(), adapter_.bias_log_step, sums);
}

at::Tensor LanguageModel::next_logits(const Session& session, Adaptation adaptation) const {
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  const auto y = outputs(session.last_hidden.unsqueeze(1), session, adaptation).squeeze(1);  // B,D
  if (adaptation == Adaptation::off || session.bias.empty()) return base_->head()->logits(y);
  std::vector<at::Tensor> rows;
  for (int64_t index = 0; index < y.size(0); ++index)
    rows.push_back(head_for(session, index)->logits(y.narrow(0, index, 1)));
  return at::cat(rows);
}

}  // namespace fwl
