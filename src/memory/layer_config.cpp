#include "memory/layer_config.h"

#include "support/fields.h"

namespace fwl {

LayerOptions LayerConfig::options() const {
  LayerOptions options;
  options.is_residual = is_residual;
  options.has_layer_norm = has_layer_norm;
  options.epsilon = epsilon;
  options.grad_scale = grad_scale;
  options.gradient_at = gradient_point_from_name(gradient_at);
  options.segment_tokens = segment_tokens;
  options.max_drift = max_drift;
  options.kept_state_bytes = kept_state_megabytes << 20;
  return options;
}

void add_fields(Fields& fields, LayerConfig& config) {
  fields.add("layer.is_present", config.is_present, "false: the base's hidden states go to the head as they are");
  fields.add("layer.width", config.width, "width of the layer; 0: four times the model's").range(0, 1 << 20);
  fields.add("layer.is_residual", config.is_residual, "add the layer's output to its input, and start from zero");
  fields.add("layer.has_layer_norm", config.has_layer_norm, "LayerNorm after the second map");
  fields.add("layer.epsilon", config.epsilon, "of the LayerNorm").range(0, 1);
  fields.add("layer.grad_scale", config.grad_scale, "constant factor on every inner gradient").range(0, 1e6);
  fields.add("layer.gradient_at", config.gradient_at, "where each token's gradient is taken")
      .choices({"slow", "boundary"});
  fields.add("layer.chunk_tokens", config.chunk_tokens, "tokens that are processed together; boundary: a chunk")
      .range(1, 1 << 20);
  fields.add("layer.segment_tokens", config.segment_tokens, "slow: decay and guard act this often; 0: never")
      .range(0, 1 << 30);
  fields.add("layer.step_scale", config.step_scale, "factor on the step sizes that learning starts from")
      .range(1e-6, 1e6);
  fields.add("layer.decay", config.decay, "start of the learned decay of past segments; 0: none").range(0, 0.9999);
  fields.add("layer.max_drift", config.max_drift, "bound on the update relative to the weight; 0: none").range(0, 1e6);
  fields.add("layer.kept_state_megabytes", config.kept_state_megabytes, "boundary training recomputes beyond this")
      .range(1, 1 << 20);
}

LayerParameters layer_parameters(const LayerConfig& config, int64_t model_width, WeightSource& source) {
  const int64_t width = config.width > 0 ? config.width : 4 * model_width;
  return layer_parameters({model_width, width, model_width, config.is_residual, config.decay, config.step_scale},
                          source);
}

}  // namespace fwl
