// A fast weight layer as a config file describes it.
#pragma once

#include <string>

#include "memory/layer.h"
#include "memory/memory_config.h"

namespace fwl {

struct LayerConfig : MemoryConfig {
  int64_t size = 0;  // H; 0: four times the hidden size
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
  UpdateRuleOptions rule;
  int64_t kept_state_megabytes = 1024;

  std::unique_ptr<MemoryConfig> clone() const override { return std::make_unique<LayerConfig>(*this); }
  void add_fields(Fields& fields) override;
  void suit_pretrained() override;
  std::shared_ptr<const FastMemory> make(const MemoryInput& input) const override;
  bool bears_long_texts() const override;
  bool starts_as_identity() const override { return is_residual; }

  LayerOptions options() const;
};

}  // namespace fwl
