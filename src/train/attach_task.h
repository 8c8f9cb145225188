// Trains fast weights for a pretrained model: contiguous text in lanes, with fast weights carried across windows.
#pragma once

#include <memory>
#include <optional>

#include "store/adapter_folder.h"
#include "train/hidden_cache.h"
#include "train/train_config.h"
#include "train/training_task.h"

namespace fwl {

struct AttachConfig {
  std::string base;               // a GGUF file or a Hugging Face folder
  bool train_base = false;        // otherwise the base is frozen, and its hidden states are cached
  bool train_slow = true;         // otherwise the model equals its base while fast weights are off
  int64_t window_tokens = 2048;   // the base restarts with every window
  int64_t segment_tokens = 2048;  // T of a step
  int64_t rows = 1;               // B lanes
  MemoryChoice memory;
  BlockConfig blocks;
  ObjectiveConfig objective;
  OptimizerConfig optimizer;
  RunConfig run;

  AttachConfig();  // defaults for a pretrained model
};

void add_fields(Fields& fields, AttachConfig& config);

// A text for the task: its tokens, and the cache of their hidden states.
struct AttachText {
  std::shared_ptr<const TokenFile> tokens;
  std::string cache_path;
};

class AttachTask : public TrainingTask {
 public:
  // Fills the caches. `valid` may have no tokens: no validation.
  AttachTask(const AttachConfig& config, std::shared_ptr<BaseModel> base, const AttachText& train,
             const AttachText& valid, RankGroup& ranks, const ProgressReport& progress);

  NamedTensors parameters() const override;
  std::vector<std::string> step_parameter_names() const override;
  TaskFacts facts() const override;
  nlohmann::json data_facts() const override;
  int64_t draw(int64_t count) override;
  BatchLosses losses(int64_t batch, bool wants_slow) override;
  void forget() override { carried_.reset(); }
  bool can_validate() const override { return valid_.tokens != nullptr; }
  Validation validate(const ProgressReport& progress) override;
  nlohmann::json position() const override;
  void append_state(TensorMap& tensors) const override;
  void restore(const nlohmann::json& position, TensorReader& reader) override;
  void save_model(const std::string& folder) const override;
  std::vector<std::pair<std::string, double>> step_sizes() const override;

 private:
  struct Text {
    std::shared_ptr<const TokenFile> tokens;
    std::optional<HiddenCache> hidden;
  };
  // Parts of a text that are read in parallel, and those that this rank reads.
  struct Lanes {
    int64_t count = 1;
    RowShare share = {0, 1};
  };
  struct Batch {
    at::Tensor hidden, targets;  // B,T,D  B,T
  };

  Text open_text(const AttachText& text, const ProgressReport& progress) const;
  Batch batch_at(const Text& text, const Lanes& lanes, int64_t position, const BaseCall& call = {}) const;
  at::Tensor live_hidden(const Text& text, int64_t first, int64_t count, const BaseCall& call) const;
  at::Tensor sample_hidden(int64_t most) const;
  int64_t lane_targets(const Text& text, int64_t rows) const;
  at::Tensor lane_tokens(const Text& text, const Lanes& lanes, int64_t position, int64_t count) const;
  Losses read_segment(const Text& text, const Lanes& lanes, int64_t position, Session& session, bool wants_slow,
                      bool is_training) const;
  ReadOptions read_options(bool wants_slow) const;

  AttachConfig config_;
  RankGroup& ranks_;
  Lanes train_lanes_;
  std::shared_ptr<BaseModel> base_;
  AdapterDescription description_;
  std::unique_ptr<LanguageModel> model_;
  Text train_, valid_;
  int64_t position_ = 0;        // in each lane
  std::vector<int64_t> drawn_;  // positions of the batches drawn
  std::optional<Session> carried_;
};

}  // namespace fwl
