#include "memory/fast_memory.h"

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// Reads token by token: correct for any memory, fast for those with a small state.
class ReadingCursor : public MemoryCursor {
 public:
  ReadingCursor(std::shared_ptr<const FastMemory> memory, const FastState& state, std::shared_ptr<const Head> head)
      : memory_(std::move(memory)), state_(state.clone()), head_(std::move(head)) {}

  at::Tensor logits(const at::Tensor& hidden) override { return memory_->logits(hidden, head_, state_); }
  void learn(const at::Tensor& hidden, int64_t target) override {
    const auto targets = at::full({1, 1}, target, hidden.options().dtype(at::kLong));
    memory_->read(hidden.unsqueeze(1), targets, head_, {}, state_);
  }
  FastState state() override { return state_.clone(); }

 private:
  std::shared_ptr<const FastMemory> memory_;
  FastState state_;
  std::shared_ptr<const Head> head_;
};

at::Tensor row(const at::Tensor& tensor, int64_t index) {
  return tensor.defined() ? tensor.narrow(0, index, 1) : tensor;
}

}  // namespace

Form form_from_name(const std::string& name) {
  if (name == "quadratic") return Form::quadratic;
  if (name == "chunked") return Form::chunked;
  if (name == "recurrent") return Form::recurrent;
  fail("form", "quadratic, chunked or recurrent", "'" + name + "'");
}

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

FastMemory::Adapter FastMemory::adapter(const FastState& state) const {
  return [self = shared_from_this(), state](const at::Tensor& hidden) { return self->adapt(hidden, state); };
}

std::shared_ptr<const Head> FastMemory::head_for(const std::shared_ptr<const Head>& head, const FastState&,
                                                 int64_t) const {
  return head;
}

at::Tensor FastMemory::loss(const at::Tensor& hidden, const at::Tensor& targets,
                            const std::shared_ptr<const Head>& head, const FastState& state,
                            const at::Tensor& token_weights) const {
  const auto y = adapt(hidden, state);
  if (!moves_head() || !state.is_defined()) return masked_loss(*head, y, targets, token_weights);
  std::vector<at::Tensor> rows;
  for (int64_t index = 0; index < y.size(0); ++index)
    rows.push_back(
        masked_loss(*head_for(head, state, index), row(y, index), row(targets, index), row(token_weights, index)));
  return at::cat(rows);
}

at::Tensor FastMemory::logits(const at::Tensor& hidden, const std::shared_ptr<const Head>& head,
                              const FastState& state) const {
  const auto y = adapt(hidden.unsqueeze(1), state).squeeze(1);  // B,D
  if (!moves_head() || !state.is_defined()) return head->logits(y);
  std::vector<at::Tensor> rows;
  for (int64_t index = 0; index < y.size(0); ++index)
    rows.push_back(head_for(head, state, index)->logits(row(y, index)));
  return at::cat(rows);
}

std::unique_ptr<MemoryCursor> FastMemory::cursor(const FastState& state, std::shared_ptr<const Head> head) const {
  return std::make_unique<ReadingCursor>(shared_from_this(), state, std::move(head));
}

std::shared_ptr<const FastMemory> FastMemory::with_step_size(double) const {
  fail("test-time", "a memory whose step sizes can be set (layer, bias-only)", kind());
}

}  // namespace fwl
