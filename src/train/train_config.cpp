#include "train/train_config.h"

#include <fmt/format.h>

#include "support/error.h"
#include "support/fields.h"

namespace fwl {

void add_fields(Fields& fields, ObjectiveConfig& config) {
  fields.add("objective.name", config.name, "static: L, fast weights off; fwl: L', second order")
      .choices({"static", "fwl", "fwl-first-order"});
  fields.add("objective.slow_share", config.slow_share, "share of L in the loss; the rest is L'").range(0, 1);
  add_fields(fields, "objective.", config.head);
}

void add_fields(Fields& fields, OptimizerConfig& config) {
  fields.add("optimizer.name", config.name, "adamw decouples weight decay from the gradient")
      .choices({"adam", "adamw"});
  fields.add("optimizer.lr", config.lr, "peak learning rate").range(0, 10);
  fields
      .add("optimizer.step_lr_factor", config.step_lr_factor, "learning rate of step sizes and decays, relative to lr")
      .range(0, 1e4);
  fields.add("optimizer.beta1", config.beta1, "decay rate of the first moment").range(0, 0.99999);
  fields.add("optimizer.beta2", config.beta2, "decay rate of the second moment").range(0, 0.99999);
  fields.add("optimizer.epsilon", config.epsilon, "added to the root of the second moment").range(0, 1);
  fields.add("optimizer.weight_decay", config.weight_decay, "weight decay of matrices").range(0, 10);
  fields.add("optimizer.clip_norm", config.clip_norm, "maximal norm of the gradient; 0: no clipping").range(0, 1e9);
  fields.add("optimizer.accumulation", config.accumulation, "batches per step").range(1, 1 << 20);
  fields.add("optimizer.sharded", config.is_sharded,
             "several ranks: each keeps and updates its share of Adam's moments, and sends the others its weights");
  fields.add("optimizer.schedule", config.schedule, "how the learning rate falls after warmup")
      .choices({"cosine", "inverse-sqrt", "constant"});
  fields.add("optimizer.warmup_steps", config.warmup_steps, "steps of linear warmup").range(0, 1 << 30);
  fields.add("optimizer.final_lr_share", config.final_lr_share, "cosine: final learning rate relative to the peak")
      .range(0, 1);
}

void add_fields(Fields& fields, RunConfig& config) {
  fields.add("run.steps", config.steps, "optimizer steps").range(1, 1 << 30);
  fields.add("run.seed", config.seed, "seed of weights, data order and dropout").range(0, 1e15);
  fields.add("run.log_every", config.log_every, "steps between log lines").range(1, 1 << 30);
  fields.add("run.valid_every", config.valid_every, "steps between validations").range(1, 1 << 30);
  fields.add("run.checkpoint_every", config.checkpoint_every, "steps between checkpoints").range(1, 1 << 30);
  fields.add("run.keep_checkpoints", config.keep_checkpoints, "how many checkpoints to keep").range(1, 1 << 20);
  fields
      .add("run.outlier_factor", config.outlier_factor,
           "skip steps with this many times the usual gradient norm; 0: never")
      .range(0, 1e9);
  fields.add("run.max_skipped", config.max_skipped, "this many skipped steps in a row end the run").range(1, 1 << 20);
}

void add_fields(Fields& fields, TrainConfig& config) {
  add_fields(fields, config.base);
  add_fields(fields, config.memory);
  add_fields(fields, config.blocks);
  add_fields(fields, config.objective);
  auto& data = config.data;
  fields.add("data.train", data.train, "token file to train on (fwl tokenize)");
  fields.add("data.valid", data.valid, "token file to validate on");
  fields.add("data.tokenizer", data.tokenizer, "vocabulary of these files, as for fwl tokenize; stored with the model");
  fields.add("data.order", data.order, "shuffled: windows in random order; lanes: reading order, with carried state")
      .choices({"shuffled", "lanes"});
  fields.add("data.rows", data.rows, "sequences in a batch").range(1, 1 << 20);
  fields.add("data.segment_tokens", data.segment_tokens, "tokens per sequence").range(1, 1 << 24);
  fields.add("data.packed", data.is_packed, "shuffled windows may cross document boundaries");
  fields.add("data.valid_tokens", data.valid_tokens, "validate on this many tokens; 0: all").range(0, 1e15);
  add_fields(fields, config.optimizer);
  add_fields(fields, config.run);
}

void check_blocks(const BlockConfig& blocks, const ObjectiveConfig& objective, const std::string& where,
                  int64_t segment_tokens) {
  if (!blocks.is_present()) return;
  if (segment_tokens % blocks.chunk_tokens != 0)
    fail(where, fmt::format("a multiple of blocks.chunk_tokens, {}", blocks.chunk_tokens),
         std::to_string(segment_tokens), "gradients end where a segment ends");
  if (objective.slow_share > 0)
    fail("objective.slow_share", "0 with memories in the blocks", fmt::format("{}", objective.slow_share),
         "the loss without them would take a second pass of the base");
}

}  // namespace fwl
