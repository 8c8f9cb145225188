#include "blocks/block_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/products.h"
#include "engine/torch.h"

namespace fwl {
namespace {

constexpr const char* weights_name = "W";
constexpr const char* squares_name = "statistics.gradient_squares";  // running mean of the tokens' squared gradients
constexpr const char* mean_step_name = "mean_step";
constexpr int64_t averaged_chunks = 16;

at::Tensor per_text(const std::vector<double>& numbers, const at::TensorOptions& options) {
  return at::tensor(numbers, at::kDouble).to(options).view({-1, 1});  // B,1
}

at::Tensor as_matrices(const at::Tensor& numbers) {
  return numbers.unsqueeze(-1).unsqueeze(-1);  // …,1,1
}

}  // namespace

BlockMemory::BlockMemory(BlockMemoryParameters parameters, BlockMemoryOptions options)
    : parameters_(std::move(parameters)), options_(std::move(options)) {}

int64_t BlockMemory::index_of(int64_t block) const {
  const auto& blocks = options_.blocks;
  const auto found = std::lower_bound(blocks.begin(), blocks.end(), block);
  return found != blocks.end() && *found == block ? found - blocks.begin() : -1;
}

NamedTensors BlockMemory::parameters() const {
  NamedTensors all = {{"blocks.U", parameters_.keys}, {"blocks.log_steps", parameters_.log_steps}};
  if (parameters_.decay_logits.defined()) all.emplace_back("blocks.decay_logits", parameters_.decay_logits);
  if (parameters_.rates.defined()) all.emplace_back("blocks.rates", parameters_.rates);
  if (parameters_.start.defined()) all.emplace_back("blocks.W", parameters_.start);
  return all;
}

std::vector<std::string> BlockMemory::step_parameter_names() const {
  return {"blocks.log_steps", "blocks.decay_logits"};
}

std::vector<std::pair<std::string, double>> BlockMemory::step_sizes() const {
  std::vector<std::pair<std::string, double>> sizes;
  for (size_t index = 0; index < options_.blocks.size(); ++index) {
    const auto number = [&](const at::Tensor& tensor) { return tensor[static_cast<int64_t>(index)].item<double>(); };
    sizes.emplace_back(fmt::format("block {}", options_.blocks[index]), number(parameters_.log_steps.exp()));
    if (parameters_.decay_logits.defined())
      sizes.emplace_back(fmt::format("block {} decay", options_.blocks[index]),
                         number(parameters_.decay_logits.sigmoid()));
  }
  return sizes;
}

std::vector<DriftFigure> BlockMemory::drift(const FastState& state) const {
  const auto W = state.find(weights_name);
  std::vector<DriftFigure> figures;
  for (size_t index = 0; W.defined() && index < options_.blocks.size(); ++index) {
    const double norm = W.select(1, static_cast<int64_t>(index)).norm({}, {1, 2}).mean().item<double>();
    figures.push_back({fmt::format("block {} W", options_.blocks[index]), norm, 0, norm});
  }
  return figures;
}

double BlockMemory::flops_per_token() const {
  return 4.0 * static_cast<double>(parameters_.keys.numel());
}

StateLayout BlockMemory::state_layout() const {
  const auto blocks = static_cast<int64_t>(options_.blocks.size());
  StateLayout layout{{{weights_name, {blocks, rank(), hidden_size()}}, {squares_name, {blocks}}},
                     parameters_.keys.options().requires_grad(false)};
  if (options_.rule == BlockRule::momentum) layout.tensors.push_back({mean_step_name, {blocks, rank(), hidden_size()}});
  return layout;
}

FastState BlockMemory::new_state(int64_t sequences) const {
  auto state = state_layout().zeros(sequences);
  state.segment_tokens = options_.chunk_tokens;
  if (parameters_.start.defined())
    state.tensors[weights_name] = parameters_.start.unsqueeze(0).expand({sequences, -1, -1, -1});
  return state;
}

std::vector<at::Tensor> BlockMemory::weights(const FastState& state) const {
  return (state.is_defined() ? state : new_state(1)).tensors.at(weights_name).unbind(1);
}

at::Tensor BlockMemory::token_rates(const at::Tensor& hidden) const {
  if (!parameters_.rates.defined()) return {};
  const auto unit = hidden * (hidden.square().sum(-1, true) + 1e-12).rsqrt();
  return 2 * at::sigmoid(product(unit, parameters_.rates.unsqueeze(1)) * std::sqrt(static_cast<double>(hidden_size())));
}

// Keys of length 1 make a step independent of the scale of the model's activations.
at::Tensor BlockMemory::features(int64_t index, const at::Tensor& input) const {
  const auto raw = at::relu(product(input, parameters_.keys[index])).square();  // N,R
  return raw * (raw.square().sum(-1, true) + 1e-12).rsqrt();
}

// With g the gradient of a token's loss with respect to v W, and G the mean over the chunk of v^T g: the step is
// G / mean |g|^2, times the step size, so that it does not depend on the scale of the model's residuals either.
void BlockMemory::learn(FastState& state, const BlockGradients& gradients) const {
  auto& W = state.tensors.at(weights_name);        // B,S,R,D
  auto& squares = state.tensors.at(squares_name);  // B,S
  const auto chunk = static_cast<double>(options_.chunk_tokens);
  const auto counts = gradients.token_weights.gt(0).sum(1).to(at::kDouble).cpu();  // B
  std::vector<double> share, progress, fresh;                                      // B each
  for (size_t text = 0; text < state.tokens_read.size(); ++text) {
    const double count = counts[static_cast<int64_t>(text)].item<double>(),
                 before = static_cast<double>(state.tokens_read[text]);
    share.push_back(count / chunk);
    progress.push_back(
        std::min(1.0, (before + count) / (chunk * static_cast<double>(std::max<int64_t>(1, options_.warmup_chunks)))));
    fresh.push_back(count / (std::min(before, chunk * averaged_chunks) + std::max(1.0, count)));
    state.tokens_read[text] += static_cast<int64_t>(count);
  }
  const auto options = W.options().requires_grad(false);
  const auto counted = gradients.token_weights.gt(0).to(options);                // B,T
  const auto outputs = at::stack(gradients.outputs, 1) * chunk;                  // B,S,T,D
  const auto total = (outputs.square().sum(-1) * counted.unsqueeze(1)).sum(-1);  // B,S
  const auto present = total / (per_text(share, options) * chunk).clamp_min(1);
  squares = squares + per_text(fresh, options) * (present - squares);

  const auto scale = squares.clamp_min(1e-30);                                      // B,S
  const auto step = parameters_.log_steps.exp() * per_text(progress, options);      // B,S
  const auto update = at::stack(gradients.weights, 1) * as_matrices(step / scale);  // B,S,R,D
  const auto bound = options_.max_update * as_matrices(step * scale.rsqrt());       // B,S,1,1
  const auto bounded = options_.max_update > 0 ? update * (bound / matrix_norms(update)).clamp_max(1) : update;
  auto kept = W;
  if (parameters_.decay_logits.defined())
    kept = W * as_matrices(at::exp(at::log_sigmoid(parameters_.decay_logits) * per_text(share, options)));
  W = kept - update_by_rule(state, bounded, per_text(share, options));
}

void BlockMemory::learn_again(FastState& state, const BlockGradients& gradients) const {
  const auto after = state.tokens_read;
  const auto counts = gradients.token_weights.gt(0).sum(1).cpu();  // B
  for (size_t text = 0; text < after.size(); ++text)
    state.tokens_read[text] -= counts[static_cast<int64_t>(text)].item<int64_t>();
  learn(state, gradients);
  state.tokens_read = after;
}

// `share`: of a whole chunk that a text has read, B,1; a text of which no token counts keeps its running mean.
at::Tensor BlockMemory::update_by_rule(FastState& state, const at::Tensor& step, const at::Tensor& share) const {
  if (options_.rule == BlockRule::plain) return step;
  if (options_.rule == BlockRule::orthogonal) return orthogonalized(step);
  auto& mean = state.tensors.at(mean_step_name);  // B,S,R,D
  const auto is_read = as_matrices(share.gt(0).to(step.options()));
  mean = at::where(is_read > 0, options_.momentum * mean + (1 - options_.momentum) * step, mean);
  return mean * is_read;
}

}  // namespace fwl
