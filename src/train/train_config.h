// The config of a training run, as one list of fields.
#pragma once

#include <cstdint>
#include <string>

#include "architecture/base_config.h"
#include "blocks/block_config.h"
#include "memory/memory_config.h"

namespace fwl {

class Fields;

struct ObjectiveConfig {
  std::string name = "fwl";  // static, fwl, fwl-first-order
  double slow_share = 0;     // lambda of lambda * L + (1 - lambda) * L'
  HeadOptions head;

  bool adapts() const { return name != "static"; }
};

struct DataConfig {
  std::string train, valid;  // token files
  std::string tokenizer;     // their vocabulary, stored with the model
  std::string order = "shuffled";
  int64_t rows = 8;              // B
  int64_t segment_tokens = 256;  // T
  bool is_packed = true;
  int64_t valid_tokens = 0;  // 0: all

  bool is_in_lanes() const { return order == "lanes"; }
};

struct OptimizerConfig {
  std::string name = "adam";
  double lr = 1e-3;
  double step_lr_factor = 10;  // learning rate of step sizes and decays, relative to lr
  double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 1;
  int64_t accumulation = 1;  // batches per step
  bool is_sharded = false;   // each rank keeps its share of the moments
  std::string schedule = "cosine";
  int64_t warmup_steps = 0;
  double final_lr_share = 0.1;
};

struct RunConfig {
  int64_t steps = 1000;
  int64_t seed = 0;
  int64_t log_every = 10, valid_every = 250, checkpoint_every = 250;
  int64_t keep_checkpoints = 2;
  double outlier_factor = 20;  // skip steps whose gradient norm exceeds this many times the usual one; 0: never
  int64_t max_skipped = 10;    // this many skipped steps in a row end the run
};

struct TrainConfig {
  BaseConfig base;
  MemoryChoice memory;
  BlockConfig blocks;
  ObjectiveConfig objective;
  DataConfig data;
  OptimizerConfig optimizer;
  RunConfig run;
};

void add_fields(Fields& fields, ObjectiveConfig& config);
void add_fields(Fields& fields, OptimizerConfig& config);
void add_fields(Fields& fields, RunConfig& config);
void add_fields(Fields& fields, TrainConfig& config);

// Throws a UserError unless memories in the blocks can be trained so; `where` names the segment's length.
void check_blocks(const BlockConfig& blocks, const ObjectiveConfig& objective, const std::string& where,
                  int64_t segment_tokens);

}  // namespace fwl
