// A fast weight layer as a config file describes it.
#pragma once

#include <string>

#include "memory/layer.h"

namespace fwl {

class Fields;

struct LayerConfig {
  bool is_present = true;
  int64_t width = 0;  // H; 0: four times the model's
  bool is_residual = false;
  bool has_layer_norm = true;
  double epsilon = 1e-6;
  double grad_scale = 1;
  std::string gradient_at = "slow";
  int64_t chunk_tokens = 128;
  int64_t segment_tokens = 0;
  double step_scale = 1;
  double decay = 0;
  double max_drift = 0;
  int64_t kept_state_megabytes = 1024;

  LayerOptions options() const;
};

// Under names like "layer.width".
void add_fields(Fields& fields, LayerConfig& config);

LayerParameters layer_parameters(const LayerConfig& config, int64_t model_width, WeightSource& source);

}  // namespace fwl
