#include "memory/layer_check.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr const char* where = "FastWeightLayer";

void check_shape(const char* name, const at::Tensor& tensor, at::IntArrayRef expected) {
  if (!tensor.defined() || tensor.sizes() != expected)
    fail(fmt::format("{}: {}", where, name), c10::str("shape ", expected),
         tensor.defined() ? c10::str(tensor.sizes()) : "nothing");
}

void check_token_weights(const at::Tensor& weights, const at::Tensor& targets) {
  if (!weights.defined()) return;
  if (weights.sizes() != targets.sizes())
    fail(where, c10::str("token weights ", targets.sizes()), c10::str(weights.sizes()));
  if (!(weights.isfinite().all().item<bool>() && (weights >= 0).all().item<bool>()))
    fail(where, "finite token weights >= 0", "something else");
}

}  // namespace

void check_layer(const LayerParameters& parameters, const LayerOptions& options, const UpdateRule& rule) {
  const auto& slow = parameters.slow;
  if (!slow.U.defined() || slow.U.dim() != 2) fail(where, "a matrix U (D,H)", "something else");
  if (!slow.W.defined() || slow.W.dim() != 2) fail(where, "a matrix W (H,D)", "something else");
  const int64_t width = slow.U.size(0), layer_width = slow.U.size(1), output = slow.W.size(1);
  check_shape("a", slow.a, {layer_width});
  check_shape("W", slow.W, {layer_width, output});
  check_shape("b", slow.b, {output});
  check_shape("gain", slow.gain, {output});
  check_shape("shift", slow.shift, {output});
  check_shape("log_steps", parameters.log_steps, {6});
  if (parameters.decay_logits.defined()) check_shape("decay_logits", parameters.decay_logits, {6});
  if (options.is_residual && width != output)
    fail(where, fmt::format("an output width of {} for the residual form", width), fmt::format("{}", output));
  const bool needs_segments = parameters.decay_logits.defined() || options.max_drift > 0 || rule.needs_segments();
  if (needs_segments && options.gradient_at == GradientAt::slow && options.segment_tokens <= 0)
    fail(where, "segment_tokens > 0 with decay, max_drift or momentum", fmt::format("{}", options.segment_tokens),
         "they act at the ends of segments");
}

void check_layer_input(const at::Tensor& hidden, const at::Tensor& targets, const Head& head, const MemoryCall& call,
                       const LayerParameters& parameters) {
  const int64_t width = parameters.slow.U.size(0), output = parameters.slow.W.size(1);
  if (hidden.dim() != 3 || hidden.size(2) != width)
    fail(where, fmt::format("hidden states (B,T,{})", width), c10::str(hidden.sizes()));
  if (hidden.size(0) == 0 || hidden.size(1) == 0)
    fail(where, "at least one sequence of at least one token", c10::str(hidden.sizes()), "an empty text?");
  if (hidden.scalar_type() != parameters.slow.U.scalar_type())
    fail(where, c10::str("hidden states of type ", parameters.slow.U.scalar_type()), c10::str(hidden.scalar_type()));
  if (targets.dim() != 2 || targets.size(0) != hidden.size(0) || targets.size(1) != hidden.size(1))
    fail(where, fmt::format("targets ({},{})", hidden.size(0), hidden.size(1)), c10::str(targets.sizes()));
  if (targets.scalar_type() != at::kLong) fail(where, "targets of type int64", c10::str(targets.scalar_type()));
  if (head.width() != output) fail(where, fmt::format("a head of width {}", output), fmt::format("{}", head.width()));
  if (call.chunk_tokens <= 0) fail(where, "chunk > 0", fmt::format("{}", call.chunk_tokens));
  check_token_weights(call.token_weights, targets);
}

void check_finite_hidden(const at::Tensor& hidden) {
  if (!hidden.isfinite().all().item<bool>())
    fail(where, "finite hidden states", "NaN or infinity", "the base model has diverged, or its weights are damaged");
}

}  // namespace fwl
