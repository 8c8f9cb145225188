#include "model/language_model.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "support/error.h"

namespace fwl {
namespace {

// Without gradients a long text goes through in segments, so that memory does not grow with it.
constexpr int64_t segment_tokens = 2048;

}  // namespace

Session Session::clone() const {
  return {base.clone(), fast.is_defined() ? fast.clone() : FastState{},
          last_hidden.defined() ? last_hidden.clone() : at::Tensor()};
}

size_t Session::bytes() const {
  size_t total = base.bytes() + (last_hidden.defined() ? last_hidden.nbytes() : 0);
  if (fast.is_defined())
    for (const auto& tensor : fast.tensors()) total += tensor.nbytes();
  return total;
}

LanguageModel::LanguageModel(std::shared_ptr<BaseModel> base, std::shared_ptr<const FastWeightLayer> layer,
                             std::shared_ptr<const Tokenizer> tokenizer)
    : base_(std::move(base)), layer_(std::move(layer)), tokenizer_(std::move(tokenizer)) {
  if (layer_ && layer_->parameters().slow.U.size(0) != base_->width())
    fail("fast weight layer", fmt::format("width {}, that of the base model", base_->width()),
         std::to_string(layer_->parameters().slow.U.size(0)), "a layer of another model?");
}

Session LanguageModel::new_session(int64_t sequences) const {
  return {base_->new_state(sequences), {}, {}};
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
                            const ReadOptions& options) const {
  const auto head = base_->head();
  const auto loss_of = [&](const at::Tensor& y) {
    return head->loss(y.flatten(0, 1), targets.reshape({-1})).view(targets.sizes());
  };
  if (layer_ && options.adaptation == Adaptation::write) {
    const LayerCall call{{}, options.chunk_tokens, Form::chunked, options.wants_slow_loss};
    auto output = layer_->forward(hidden, targets, head, call, session.fast);
    session.fast = std::move(output.state);
    return {output.fast_loss, options.wants_slow_loss ? output.slow_loss : at::Tensor()};
  }
  Losses losses{loss_of(outputs(hidden, session, options.adaptation)), {}};
  if (options.wants_slow_loss)
    losses.slow =
        layer_ && options.adaptation == Adaptation::read ? loss_of(layer_->slow_output(hidden)) : losses.adapted;
  return losses;
}

at::Tensor LanguageModel::outputs(const at::Tensor& hidden, const Session& session, Adaptation adaptation) const {
  if (!layer_) return hidden;
  const bool uses_state = adaptation != Adaptation::off && session.fast.is_defined();
  return uses_state ? layer_->adapt(hidden, session.fast) : layer_->slow_output(hidden);
}

at::Tensor LanguageModel::next_logits(const Session& session, Adaptation adaptation) const {
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  const auto y = outputs(session.last_hidden.unsqueeze(1), session, adaptation);  // B,1,D
  return base_->head()->logits(y.squeeze(1));
}

}  // namespace fwl
