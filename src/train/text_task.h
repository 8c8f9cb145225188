// Trains a language model on token files: windows in random order, or lanes in reading order that carry their state.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "data/reading_batches.h"
#include "data/shuffled_batches.h"
#include "store/trained_model.h"
#include "train/train_config.h"
#include "train/training_task.h"

namespace fwl {

class TextTask : public TrainingTask {
 public:
  // Opens and checks the data, and creates a fresh model, the same on every rank.
  TextTask(const TrainConfig& config, at::Device device, RankGroup& ranks);

  NamedTensors parameters() const override { return model_->parameters(); }
  std::vector<std::string> step_parameter_names() const override;
  TaskFacts facts() const override;
  nlohmann::json data_facts() const override;
  int64_t draw(int64_t count) override;
  BatchLosses losses(int64_t batch, bool wants_slow) override;
  void forget() override;
  bool can_validate() const override { return valid_ != nullptr; }
  Validation validate(const ProgressReport& progress) override;
  nlohmann::json position() const override;
  void append_state(TensorMap& tensors) const override;
  void restore(const nlohmann::json& position, TensorReader& reader) override;
  void save_model(const std::string& folder) const override;
  std::vector<std::pair<std::string, double>> step_sizes() const override;

  const LanguageModel& model() const { return *model_; }

  // Throws a UserError unless the folder holds a model of fwl train with this task's vocabulary.
  void check_vocabulary(const std::string& folder) const;

 private:
  using Batches = std::variant<ShuffledBatches, ReadingBatches>;

  bool next(TokenBatch& batch);
  Losses read(const TokenBatch& batch, Session& session, bool wants_slow, bool is_training) const;
  Validation validate_windows(const ProgressReport& progress);
  Validation validate_lanes(const ProgressReport& progress);
  int64_t valid_size() const;

  TrainConfig config_;
  at::Device device_;
  RankGroup& ranks_;
  ModelDescription description_;
  std::unique_ptr<TokenFile> train_, valid_;
  std::shared_ptr<LanguageModel> model_;
  std::optional<Batches> batches_;
  std::vector<TokenBatch> drawn_;
  std::vector<bool> starts_new_pass_;  // one per drawn batch: the carried state ends before it
  std::optional<Session> carried_;     // between the batches of lanes; of this rank's rows
};

}  // namespace fwl
