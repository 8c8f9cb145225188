#include "memory/layer_config.h"

#include "engine/torch.h"
#include "support/fields.h"

namespace fwl {

LayerOptions LayerConfig::options() const {
  LayerOptions options;
  options.is_residual = is_residual;
  options.has_layer_norm = has_layer_norm;
  options.epsilon = epsilon;
  options.grad_scale = grad_scale;
  options.gradient_at = gradient_at_from_name(gradient_at);
  options.chunk_tokens = chunk_tokens;
  options.segment_tokens = segment_tokens;
  options.max_drift = max_drift;
  options.kept_state_bytes = kept_state_megabytes << 20;
  options.rule = rule;
  return options;
}

void LayerConfig::add_fields(Fields& fields) {
  fields.add("layer.size", size, "hidden size of the layer; 0: four times the model's").range(0, 1 << 20);
  fields.add("layer.residual", is_residual, "add the layer's output to its input, and start from zero");
  fields.add("layer.layer_norm", has_layer_norm, "LayerNorm after the second map");
  fields.add("layer.epsilon", epsilon, "of the LayerNorm").range(0, 1);
  fields.add("layer.grad_scale", grad_scale, "constant factor on every inner gradient").range(0, 1e6);
  fields.add("layer.gradient_at", gradient_at, "where each token's gradient is taken: slow weights or chunk boundary")
      .choices({"slow", "boundary"});
  fields.add("layer.chunk_tokens", chunk_tokens, "tokens that are processed together; boundary: a chunk")
      .range(1, 1 << 20);
  fields.add("layer.segment_tokens", segment_tokens, "slow: decay and guard act this often; 0: never")
      .range(0, 1 << 30);
  fields.add("layer.step_scale", step_scale, "factor on the step sizes that learning starts from").range(1e-6, 1e6);
  fields.add("layer.decay", decay, "start of the learned decay of past segments; 0: none").range(0, 0.9999);
  fields.add("layer.max_drift", max_drift, "bound on the update relative to the weight; 0: none").range(0, 1e6);
  fields.add("layer.rule", rule.name, "how gradients become updates").choices(update_rule_names());
  fields.add("layer.momentum", rule.momentum, "of the rule momentum, per segment").range(0, 0.9999);
  fields.add("layer.kept_state_megabytes", kept_state_megabytes, "boundary training recomputes beyond this")
      .range(1, 1 << 20);
}

void LayerConfig::suit_pretrained() {
  is_residual = true;
  has_layer_norm = false;
  gradient_at = "boundary";
  decay = 0.98;
  max_drift = 1;
}

std::shared_ptr<const FastMemory> LayerConfig::make(const MemoryInput& input) const {
  const int64_t layer_size = size > 0 ? size : 4 * input.hidden_size;
  auto parameters = layer_parameters({input.hidden_size, layer_size, input.hidden_size, is_residual, decay, step_scale},
                                     input.source);
  if (input.sample.defined()) parameters.log_steps = log_steps_from_data(input.sample, parameters, step_scale);
  auto layer_options = options();
  layer_options.is_first_order = input.is_first_order;
  return std::make_shared<FastWeightLayer>(std::move(parameters), std::move(layer_options));
}

bool LayerConfig::bears_long_texts() const {
  return gradient_at == "boundary" || decay > 0 || max_drift > 0;
}

std::unique_ptr<MemoryConfig> layer_memory_config() {
  return std::make_unique<LayerConfig>();
}

}  // namespace fwl
