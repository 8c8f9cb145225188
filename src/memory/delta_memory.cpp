#include "memory/delta_memory.h"

#include <fmt/format.h>

#include "engine/pointwise.h"
#include "engine/products.h"
#include "engine/torch.h"
#include "memory/counted_tokens.h"
#include "memory/memory_config.h"
#include "support/error.h"
#include "support/fields.h"

namespace fwl {
namespace {

constexpr const char* matrix_name = "matrix";
constexpr double smallest_length = 1e-6;
constexpr double read_epsilon = 1e-6;

// Every token is written before it is read, which the state alone cannot show.
class DeltaCursor : public MemoryCursor {
 public:
  DeltaCursor(std::shared_ptr<const DeltaMemory> memory, FastState state, std::shared_ptr<const Head> head)
      : memory_(std::move(memory)), state_(std::move(state)), head_(std::move(head)) {}

  at::Tensor logits(const at::Tensor& hidden) override {
    auto matrix = state_.tensors.at(matrix_name);
    const auto y = memory_->write_and_read(hidden.unsqueeze(1), Form::recurrent, 1, matrix);  // 1,1,D
    return head_->logits(y.squeeze(1));
  }
  void learn(const at::Tensor& hidden, int64_t) override {
    memory_->write_and_read(hidden.unsqueeze(1), Form::recurrent, 1, state_.tensors.at(matrix_name));
    ++state_.tokens_read[0];
  }
  FastState state() override { return state_.clone(); }

 private:
  std::shared_ptr<const DeltaMemory> memory_;
  FastState state_;
  std::shared_ptr<const Head> head_;
};

}  // namespace

DeltaMemory::DeltaMemory(DeltaParameters parameters, int64_t heads, int64_t chunk_tokens)
    : parameters_(std::move(parameters)), heads_(heads), chunk_tokens_(chunk_tokens) {
  const int64_t size = parameters_.query.size(1);
  if (heads < 1 || size % heads != 0)
    fail("delta.heads", fmt::format("a divisor of the hidden size {}", size), std::to_string(heads));
}

NamedTensors DeltaMemory::parameters() const {
  return {{"delta.query", parameters_.query},         {"delta.key", parameters_.key},
          {"delta.value", parameters_.value},         {"delta.rate", parameters_.rate},
          {"delta.rate_bias", parameters_.rate_bias}, {"delta.gain", parameters_.gain},
          {"delta.output", parameters_.output}};
}

MemoryCost DeltaMemory::cost() const {
  const auto size = static_cast<double>(parameters_.query.size(0));
  const auto chunk = static_cast<double>(chunk_tokens_), head = static_cast<double>(head_size());
  // Four projections; per head the read, the correction and the write of the matrix; scores and the system in a chunk.
  return {0, 2 * 4 * size * size + 6 * size * head + 5 * chunk * size, false};
}

StateLayout DeltaMemory::state_layout(const Head&) const {
  return {{{matrix_name, {heads_, head_size(), head_size()}}}, parameters_.query.options()};
}

at::Tensor DeltaMemory::in_heads(const at::Tensor& x) const {
  return x.view({x.size(0), x.size(1), heads_, -1}).transpose(1, 2).flatten(0, 1);
}

at::Tensor DeltaMemory::addressed(const at::Tensor& hidden, const at::Tensor& projection) const {
  const auto x = in_heads(at::silu(product(hidden, projection)));  // B*heads,T,d
  return x * (x.square().sum(-1, true) + smallest_length * smallest_length).rsqrt();
}

at::Tensor DeltaMemory::finished(const at::Tensor& hidden, const at::Tensor& reads) const {
  const auto by_head = reads.view({hidden.size(0), heads_, hidden.size(1), -1}).transpose(1, 2);  // B,T,heads,d
  const auto scale = (by_head.square().mean(-1, true) + read_epsilon).rsqrt();
  const auto normal = (by_head * scale).flatten(2) * parameters_.gain;  // B,T,D
  return hidden + product(normal, parameters_.output);
}

at::Tensor DeltaMemory::write_and_read(const at::Tensor& hidden, Form form, int64_t chunk_tokens,
                                       at::Tensor& matrix) const {
  const auto rate = (product(hidden, parameters_.rate) + parameters_.rate_bias).sigmoid();  // B,T,heads
  const DeltaInput input{addressed(hidden, parameters_.query), addressed(hidden, parameters_.key),
                         in_heads(product(hidden, parameters_.value)), rate.transpose(1, 2).flatten(0, 1),
                         matrix.flatten(0, 1)};
  const auto output = form == Form::chunked ? delta_rule_chunked(input, chunk_tokens) : delta_rule_recurrent(input);
  matrix = output.matrix.view(matrix.sizes());
  return finished(hidden, output.value);
}

MemoryLosses DeltaMemory::read(const at::Tensor& hidden, const at::Tensor& targets,
                               const std::shared_ptr<const Head>& head, const MemoryCall& call,
                               FastState& state) const {
  auto moving = state.is_defined() ? state : state_layout(*head).zeros(hidden.size(0));
  if (moving.sequences() != hidden.size(0))
    fail("delta-rule memory", fmt::format("a state of {} sequences", hidden.size(0)),
         std::to_string(moving.sequences()));
  const int64_t chunk = call.chunk_tokens > 0 ? call.chunk_tokens : chunk_tokens_;
  const auto weights = call.token_weights.defined() ? call.token_weights : at::ones(targets.sizes(), hidden.options());
  const auto counted = counted_tokens(hidden, targets, weights);
  MemoryLosses losses;
  losses.fast = at::zeros(counted.targets.sizes(), hidden.options());
  if (counted.longest() > 0) {
    // A hidden state of zero writes nothing: its key has length 0. So padding at the end leaves the matrix as it is.
    const auto y = write_and_read(counted.hidden, call.form, chunk, moving.tensors.at(matrix_name));
    losses.fast = masked_loss(*head, y, counted.targets, counted.weights);
  }
  for (size_t index = 0; index < counted.lengths.size(); ++index) moving.tokens_read[index] += counted.lengths[index];
  losses.fast = counted.in_place(losses.fast, targets.size(1));
  if (call.wants_slow_loss) losses.slow = masked_loss(*head, hidden, targets, call.token_weights);
  state = std::move(moving);
  return losses;
}

at::Tensor DeltaMemory::adapt(const at::Tensor& hidden, const FastState& state) const {
  if (!state.is_defined()) return hidden;
  const auto matrix = state.tensors.at(matrix_name).flatten(0, 1);  // B*heads,d,d
  return finished(hidden, at::matmul(addressed(hidden, parameters_.query), matrix));
}

std::unique_ptr<MemoryCursor> DeltaMemory::cursor(const FastState& state, std::shared_ptr<const Head> head) const {
  auto own = state.is_defined() ? state.clone() : state_layout(*head).zeros(1);
  auto self = std::static_pointer_cast<const DeltaMemory>(shared_from_this());
  return std::make_unique<DeltaCursor>(std::move(self), std::move(own), std::move(head));
}

namespace {

struct DeltaConfig : MemoryConfig {
  int64_t heads = 4, chunk_tokens = 64;

  std::unique_ptr<MemoryConfig> clone() const override { return std::make_unique<DeltaConfig>(*this); }
  void add_fields(Fields& fields) override {
    fields.add("delta.heads", heads, "independent matrices of associations").range(1, 1024);
    fields.add("delta.chunk_tokens", chunk_tokens, "tokens that are processed together").range(1, 1 << 20);
  }
  std::shared_ptr<const FastMemory> make(const MemoryInput& input) const override {
    const int64_t size = input.hidden_size;
    const auto square = [&](const char* name, const Initial& initial) {
      return input.source.tensor(std::string("delta.") + name, {size, size}, initial);
    };
    const auto scaled = Initial::fan_in(size);
    DeltaParameters parameters;
    parameters.query = square("query", scaled);
    parameters.key = square("key", scaled);
    parameters.value = square("value", scaled);
    parameters.rate = input.source.tensor("delta.rate", {size, heads}, scaled);
    parameters.rate_bias = input.source.tensor("delta.rate_bias", {heads}, Initial::constant(0));
    parameters.gain = input.source.tensor("delta.gain", {size}, Initial::constant(1));
    parameters.output = square("output", scaled);
    return std::make_shared<DeltaMemory>(std::move(parameters), heads, chunk_tokens);
  }
};

}  // namespace

std::unique_ptr<MemoryConfig> delta_memory_config() {
  return std::make_unique<DeltaConfig>();
}

}  // namespace fwl
