#include "train/text_task.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/torch.h"
#include "model/cost.h"
#include "support/error.h"
#include "train/carried_session.h"

namespace fwl {
namespace {

std::unique_ptr<TokenFile> open_tokens(const std::string& path, const char* key) {
  if (path.empty()) fail(key, "a token file", "nothing", "make one with fwl tokenize");
  auto file = std::make_unique<TokenFile>(path);
  if (file->size() < 2) fail(path, "at least two tokens", std::to_string(file->size()));
  return file;
}

// The vocabulary must be the one of the data; without a path it can only be bytes.
void describe_tokenizer(const DataConfig& data, const TokenFile& train, ModelDescription& description) {
  description.tokenizer_hash = to_hex(train.tokenizer_hash());
  const bool is_bytes = train.tokenizer_kind() == "byte";
  const auto path = data.tokenizer.empty() && is_bytes ? std::string("bytes") : data.tokenizer;
  if (path.empty()) return;
  if (std::filesystem::is_directory(path))
    fail("data.tokenizer", "the vocabulary's file, which is kept with the model", path + ", a folder",
         "name the tokenizer.json, .model or .vocab file in it");
  const auto tokenizer = open_tokenizer(path);
  if (tokenizer->hash() != train.tokenizer_hash())
    fail("data.tokenizer", fmt::format("the vocabulary of {}", data.train), path, "tokenized with another vocabulary");
  description.tokenizer = path == "bytes" ? path : std::filesystem::path(path).filename().string();
}

struct BatchTensors {
  at::Tensor inputs, targets, weights;  // B,T; weights are undefined if every token counts
};

BatchTensors to_tensors(const TokenBatch& batch, at::Device device) {
  const auto tensor = [&](const std::vector<int64_t>& ids) {
    return at::tensor(ids, at::kLong).view({batch.rows, batch.columns}).to(device);
  };
  BatchTensors tensors{tensor(batch.inputs), tensor(batch.targets), {}};
  if (batch.target_count() < batch.rows * batch.columns) {
    const auto is_padding = tensors.targets == TokenBatch::no_target;
    tensors.weights = is_padding.logical_not().to(at::kFloat);
    tensors.targets = tensors.targets.masked_fill(is_padding, 0);
  }
  return tensors;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TextTask::TextTask(const TrainConfig& config, at::Device device, RankGroup& ranks)
    : config_(config), device_(device), ranks_(ranks) {
  const auto& data = config_.data;
  const auto share = checked_share(ranks, "data.rows", data.rows);
  train_ = open_tokens(data.train, "data.train");
  if (!data.valid.empty()) valid_ = open_tokens(data.valid, "data.valid");
  if (valid_ && valid_->tokenizer_hash() != train_->tokenizer_hash())
    fail(data.valid, fmt::format("tokens of the same vocabulary as {}", data.train), "another vocabulary",
         "tokenize both files with one tokenizer");
  description_.base = config_.base;
  description_.base.vocabulary_size = train_->vocabulary_size();
  description_.memory = config_.memory;
  description_.blocks = config_.blocks;
  description_.objective = config_.objective.name;
  if (!data.is_in_lanes()) description_.trained_tokens = data.segment_tokens;
  describe_tokenizer(data, *train_, description_);
  if (config_.objective.adapts() && !config_.memory.is_present() && !config_.blocks.is_present())
    fail("objective.name", "static without a memory", config_.objective.name, "memory.kind and blocks.at are none");
  check_blocks(config_.blocks, config_.objective, "data.segment_tokens", data.segment_tokens);
  FreshWeights fresh(static_cast<uint64_t>(config_.run.seed), at::TensorOptions(at::kFloat).device(device));
  model_ = make_model(description_, fresh, nullptr);
  model_->shared_base()->set_head_options(config_.objective.head);
  if (data.is_in_lanes())
    batches_.emplace(std::in_place_type<ReadingBatches>, *train_, ReadingOptions{data.rows, data.segment_tokens},
                     share);
  else
    batches_.emplace(std::in_place_type<ShuffledBatches>, *train_,
                     ShuffledOptions{data.rows, data.segment_tokens, config_.run.seed, data.is_packed}, share);
}

std::vector<std::string> TextTask::step_parameter_names() const {
  return model_->step_parameter_names();
}

TaskFacts TextTask::facts() const {
  const auto cost = total(costs(*model_, {config_.data.segment_tokens, config_.objective.adapts()}));
  return {config_.data.rows * config_.data.segment_tokens * config_.optimizer.accumulation, cost.training_flops};
}

nlohmann::json TextTask::data_facts() const {
  const auto facts = [](const TokenFile& file) -> nlohmann::json {
    return {{"path", file.path()},
            {"tokens", file.size()},
            {"documents", file.document_count()},
            {"hash", to_hex(file.ids_hash())},
            {"tokenizer", to_hex(file.tokenizer_hash())},
            {"vocabulary_size", file.vocabulary_size()}};
  };
  nlohmann::json json = {{"train", facts(*train_)}};
  if (valid_) json["valid"] = facts(*valid_);
  return json;
}

// True if the lanes restart from the beginning.
bool TextTask::next(TokenBatch& batch) {
  if (auto* shuffled = std::get_if<ShuffledBatches>(&*batches_)) {
    shuffled->next(batch);
    return false;
  }
  auto& lanes = std::get<ReadingBatches>(*batches_);
  if (lanes.next(batch)) return false;
  lanes.start_again();
  lanes.next(batch);
  return true;
}

int64_t TextTask::draw(int64_t count) {
  drawn_.resize(static_cast<size_t>(count));
  starts_new_pass_.resize(drawn_.size());
  int64_t targets = 0;
  for (size_t index = 0; index < drawn_.size(); ++index) {
    starts_new_pass_[index] = next(drawn_[index]);
    targets += drawn_[index].all_targets;
  }
  return targets;
}

Losses TextTask::read(const TokenBatch& batch, Session& session, bool wants_slow, bool is_training) const {
  const auto [inputs, targets, weights] = to_tensors(batch, device_);
  const auto adaptation = config_.objective.adapts() ? Adaptation::write : Adaptation::off;
  return model_->read_targets(inputs, targets, session, {adaptation, 0, wants_slow, is_training}, 0, weights);
}

BatchLosses TextTask::losses(int64_t index, bool wants_slow) {
  const auto& batch = drawn_[static_cast<size_t>(index)];
  const bool starts_anew = !config_.data.is_in_lanes() || !carried_ || starts_new_pass_[static_cast<size_t>(index)];
  auto session = starts_anew ? model_->new_session(batch.rows) : std::move(*carried_);
  const double share = config_.objective.slow_share;
  const auto losses = read(batch, session, wants_slow || share > 0, true);
  if (config_.data.is_in_lanes()) {
    session.detach();
    carried_ = std::move(session);
  }
  return batch_losses(losses, batch.target_count(), share);
}

void TextTask::forget() {
  carried_.reset();
}

int64_t TextTask::valid_size() const {
  const int64_t limit = config_.data.valid_tokens;
  return limit > 0 ? std::min(limit, valid_->size()) : valid_->size();
}

Validation TextTask::validate(const ProgressReport& progress) {
  const at::NoGradGuard no_grad;
  const auto start = std::chrono::steady_clock::now();
  auto result = config_.data.is_in_lanes() ? validate_lanes(progress) : validate_windows(progress);
  sum_over(ranks_, {&result.adapted, &result.slow});
  result.seconds = seconds_since(start);
  return result;
}

// Windows in order, each from a fresh state, `rows` at a time over all ranks.
Validation TextTask::validate_windows(const ProgressReport& progress) {
  const int64_t tokens = valid_size(), window = std::min(config_.data.segment_tokens, tokens - 1);
  Validation result;
  TokenBatch batch;
  const int64_t windows = (tokens - 1 + window - 1) / window;
  for (int64_t first = 0; first < windows; first += config_.data.rows) {
    const auto share = ranks_.share_of(std::min(config_.data.rows, windows - first));
    if (share.count == 0) continue;
    batch.resize(share.count, window);
    for (int64_t row = 0; row < batch.rows; ++row) {
      const int64_t start = (first + share.first + row) * window;
      fill_row(*valid_, start, std::min(window, tokens - 1 - start), batch, row);
    }
    auto session = model_->new_session(batch.rows);
    result.add(read(batch, session, true, false), batch.target_count());
    if (progress) progress({result.adapted.count, tokens - 1, "tokens", {}});
  }
  return result;
}

Validation TextTask::validate_lanes(const ProgressReport& progress) {
  const auto share = ranks_.share_of(config_.data.rows);
  ReadingBatches lanes(*valid_, {config_.data.rows, config_.data.segment_tokens}, share);
  Validation result;
  TokenBatch batch;
  auto session = model_->new_session(share.count);
  for (int64_t done = 0; done < valid_size() && lanes.next(batch); done += batch.all_targets) {
    result.add(read(batch, session, true, false), batch.target_count());
    if (progress) progress({result.adapted.count, valid_size(), "tokens", {}});
  }
  return result;
}

nlohmann::json TextTask::position() const {
  return std::visit([](const auto& batches) { return to_json(batches.state()); }, *batches_);
}

void TextTask::append_state(TensorMap& tensors) const {
  append_carried(tensors, *model_, carried_, config_.data.rows, ranks_);
}

void TextTask::restore(const nlohmann::json& position, TensorReader& reader) {
  std::visit([&](auto& batches) { batches.restore(batch_state_from_json(position)); }, *batches_);
  carried_ = take_carried(reader, *model_, config_.data.rows, ranks_);
}

void TextTask::check_vocabulary(const std::string& path) const {
  if (!is_huggingface_folder(path) || !is_trained_model(HuggingFaceFolder(path)))
    fail(path, "a model of fwl train", "another", "fwl attach trains a layer for a published model");
  if (read_description(HuggingFaceFolder(path)).tokenizer_hash != description_.tokenizer_hash)
    fail(path, "a model with the vocabulary of " + train_->path(), "another vocabulary",
         "set data.tokenizer to the vocabulary in the model's folder");
}

void TextTask::save_model(const std::string& folder) const {
  save_trained_model(*model_, description_, config_.data.tokenizer, folder);
}

std::vector<std::pair<std::string, double>> TextTask::step_sizes() const {
  return model_->step_sizes();
}

}  // namespace fwl
