#include "train/attach_task.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/torch.h"
#include "model/cost.h"
#include "model/token_tensor.h"
#include "store/published_model.h"
#include "support/error.h"
#include "support/fields.h"
#include "train/carried_session.h"

namespace fwl {
namespace {

constexpr int64_t tokens_for_first_steps = 512;

nlohmann::json text_facts(const TokenFile& file) {
  return {{"path", file.path()}, {"tokens", file.size()}, {"hash", to_hex(file.ids_hash())}};
}

}  // namespace

AttachConfig::AttachConfig() {
  memory.suit_pretrained();
  optimizer.lr = 1e-4;
  optimizer.warmup_steps = 20;
}

void add_fields(Fields& fields, AttachConfig& config) {
  fields.add("base", config.base, "the pretrained model: a GGUF file or a Hugging Face folder").required();
  fields.add("train_base", config.train_base, "train the base too (Hugging Face folders)");
  fields.add("train_slow", config.train_slow,
             "false: train only keys, step sizes and decays, so that without fast weights the model equals its base");
  fields.add("window_tokens", config.window_tokens, "context of the base, which restarts with every window")
      .range(2, 1 << 24);
  fields.add("segment_tokens", config.segment_tokens, "tokens per lane and step").range(1, 1 << 24);
  fields.add("rows", config.rows, "lanes: parts of the text that are read in parallel").range(1, 4096);
  add_fields(fields, config.memory);
  add_fields(fields, config.blocks);
  add_fields(fields, config.objective);
  add_fields(fields, config.optimizer);
  add_fields(fields, config.run);
}

AttachTask::AttachTask(const AttachConfig& config, std::shared_ptr<BaseModel> base, const AttachText& train,
                       const AttachText& valid, RankGroup& ranks, const ProgressReport& progress)
    : config_(config),
      ranks_(ranks),
      train_lanes_{config.rows, checked_share(ranks, "rows", config.rows)},
      base_(std::move(base)) {
  if (!config_.memory.is_present() && !config_.blocks.is_present())
    fail("memory.kind and blocks.at", "something to attach", "none");
  check_blocks(config_.blocks, config_.objective, "segment_tokens", config_.segment_tokens);
  if (config_.blocks.is_present() && config_.window_tokens % config_.segment_tokens != 0)
    fail("segment_tokens", fmt::format("a divisor of window_tokens, {}", config_.window_tokens),
         std::to_string(config_.segment_tokens), "a segment must not cross the end of a window");
  if (config_.train_base && !std::filesystem::is_directory(config_.base))
    fail("train_base", "a Hugging Face folder as the base", config_.base, "quantised files cannot be written back");
  if (config_.train_base && config_.segment_tokens > config_.window_tokens)
    fail("segment_tokens", fmt::format("at most window_tokens, {}", config_.window_tokens),
         std::to_string(config_.segment_tokens), "a trained base reads a segment at a time");
  if (!config_.train_slow &&
      (config_.train_base || !config_.memory.starts_as_identity() || config_.objective.name == "static"))
    fail("train_slow = false", "a frozen base, a memory that adds nothing at first (layer.residual) and objective fwl",
         "others", "nothing would be left to train, or the layer would not start from zero");
  base_->set_head_options(config_.objective.head);
  description_ = {std::filesystem::path(config_.base).filename().string(),
                  model_hash(config_.base, progress),
                  base_->architecture(),
                  base_->hidden_size(),
                  config_.train_base ? config_.segment_tokens : config_.window_tokens,
                  config_.objective.name,
                  config_.memory,
                  config_.blocks};
  train_ = open_text(train, progress);
  if (valid.tokens) valid_ = open_text(valid, progress);
  FreshWeights fresh(static_cast<uint64_t>(config_.run.seed), at::TensorOptions(at::kFloat).device(base_->device()));
  const bool is_first_order = config_.objective.name == "fwl-first-order";
  std::shared_ptr<const FastMemory> memory;
  if (config_.memory.is_present())
    memory = config_.memory.make(
        {base_->hidden_size(), *base_->head(), fresh, is_first_order, sample_hidden(tokens_for_first_steps)});
  auto blocks = config_.blocks.make(base_->blocks(), base_->hidden_size(), fresh, is_first_order);
  model_ = std::make_unique<LanguageModel>(base_, std::move(memory), nullptr, std::move(blocks));
}

// Hidden states of the first training tokens, for step sizes that fit them.   1,T,D
at::Tensor AttachTask::sample_hidden(int64_t most) const {
  const int64_t tokens = std::min({most, train_.tokens->size() - 1, config_.window_tokens});
  const at::NoGradGuard no_grad;
  return train_.hidden ? train_.hidden->read(0, tokens).unsqueeze(0).to(base_->device())
                       : live_hidden(train_, 0, tokens, {});
}

AttachTask::Text AttachTask::open_text(const AttachText& text, const ProgressReport& progress) const {
  const auto& tokens = *text.tokens;
  if (tokens.size() < 2) fail(tokens.path(), "at least two tokens", std::to_string(tokens.size()));
  if (tokens.vocabulary_size() > base_->vocabulary_size())
    fail(tokens.path(), fmt::format("ids of the base's {} words", base_->vocabulary_size()),
         fmt::format("a vocabulary of {}", tokens.vocabulary_size()), "tokenized for another model");
  if (config_.train_base || config_.blocks.is_present()) return {text.tokens, std::nullopt};
  const HiddenCacheKey key{description_.base_hash, to_hex(tokens.ids_hash()), tokens.size() - 1, base_->hidden_size(),
                           config_.window_tokens};
  auto lock = fill_hidden_cache(text.cache_path, key, *base_, tokens, ranks_, progress);
  return {text.tokens, HiddenCache(text.cache_path, key, std::move(lock))};
}

NamedTensors AttachTask::parameters() const {
  auto all = config_.train_base ? model_->parameters() : model_->fast_parameters();
  if (config_.train_slow || !model_->memory()) return all;
  for (const auto& name : model_->memory()->slow_output_names())
    std::erase_if(all, [&](const auto& entry) { return entry.first == name; });
  return all;
}

std::vector<std::string> AttachTask::step_parameter_names() const {
  return model_->step_parameter_names();
}

TaskFacts AttachTask::facts() const {
  const auto parts = costs(*model_, {config_.segment_tokens, config_.objective.adapts()});
  double flops = 0;
  for (const auto& part : parts)
    if (!train_.hidden || part.part == "memory" || part.part == "head") flops += part.training_flops;
  return {config_.rows * config_.segment_tokens * config_.optimizer.accumulation, flops};
}

nlohmann::json AttachTask::data_facts() const {
  nlohmann::json json = {{"base", {{"name", description_.base_name}, {"hash", description_.base_hash}}},
                         {"train", text_facts(*train_.tokens)}};
  if (valid_.tokens) json["valid"] = text_facts(*valid_.tokens);
  return json;
}

int64_t AttachTask::lane_targets(const Text& text, int64_t rows) const {
  const int64_t targets = (text.tokens->size() - 1) / rows;
  if (targets < 1)
    fail(text.tokens->path(), fmt::format("at least one token for each of {} lanes", rows),
         std::to_string(text.tokens->size()), "fewer rows, or more text");
  return targets;
}

at::Tensor AttachTask::live_hidden(const Text& text, int64_t first, int64_t count, const BaseCall& call) const {
  auto state = base_->new_state(1);
  return base_->read(token_tensor(*text.tokens, first, count), state, call);  // 1,T,D
}

AttachTask::Batch AttachTask::batch_at(const Text& text, const Lanes& lanes, int64_t position,
                                       const BaseCall& call) const {
  const int64_t lane = lane_targets(text, lanes.count), count = std::min(config_.segment_tokens, lane - position);
  std::vector<at::Tensor> hidden, targets;
  for (int64_t row = 0; row < lanes.share.count; ++row) {
    const int64_t first = (lanes.share.first + row) * lane + position;
    hidden.push_back(text.hidden ? text.hidden->read(first, count).unsqueeze(0)
                                 : live_hidden(text, first, count, call));
    targets.push_back(token_tensor(*text.tokens, first + 1, count));
  }
  const auto device = base_->device();
  return {at::cat(hidden).to(device), at::cat(targets).to(device)};
}

// Tokens [position, position + count) of each of this rank's lanes.   B,count
at::Tensor AttachTask::lane_tokens(const Text& text, const Lanes& lanes, int64_t position, int64_t count) const {
  const int64_t lane = lane_targets(text, lanes.count);
  std::vector<at::Tensor> tokens;
  for (int64_t row = 0; row < lanes.share.count; ++row)
    tokens.push_back(token_tensor(*text.tokens, (lanes.share.first + row) * lane + position, count));
  return at::cat(tokens).to(base_->device());
}

// The losses of one segment of every lane. Memories in the blocks need the base itself, whose context starts anew with
// every window; otherwise its hidden states are known.
Losses AttachTask::read_segment(const Text& text, const Lanes& lanes, int64_t position, Session& session,
                                bool wants_slow, bool is_training) const {
  auto options = read_options(wants_slow);
  options.is_training = is_training;
  if (!model_->blocks()) {
    const auto batch = batch_at(text, lanes, position, {.is_training = is_training});
    return model_->score(batch.hidden, batch.targets, session, options);
  }
  if (position % config_.window_tokens == 0) model_->forget_context(session);
  const int64_t count = std::min(config_.segment_tokens, lane_targets(text, lanes.count) - position);
  const auto tokens = lane_tokens(text, lanes, position, count + 1);
  return model_->read_targets(tokens.slice(1, 0, count), tokens.slice(1, 1), session, options);
}

int64_t AttachTask::draw(int64_t count) {
  const int64_t lane = lane_targets(train_, config_.rows);
  drawn_.clear();
  int64_t targets = 0;
  for (int64_t index = 0; index < count; ++index) {
    if (position_ >= lane) position_ = 0;
    drawn_.push_back(position_);
    const int64_t tokens = std::min(config_.segment_tokens, lane - position_);
    targets += config_.rows * tokens;
    position_ += tokens;
  }
  return targets;
}

ReadOptions AttachTask::read_options(bool wants_slow) const {
  return {config_.objective.adapts() ? Adaptation::write : Adaptation::off, 0, wants_slow};
}

BatchLosses AttachTask::losses(int64_t index, bool wants_slow) {
  const int64_t position = drawn_[static_cast<size_t>(index)];
  if (position == 0) carried_.reset();
  auto session = carried_ ? std::move(*carried_) : model_->new_session(train_lanes_.share.count);
  const double share = config_.objective.slow_share;
  const auto losses = read_segment(train_, train_lanes_, position, session, wants_slow || share > 0, true);
  session.detach();
  carried_ = std::move(session);
  return batch_losses(losses, losses.adapted.numel(), share);
}

// One lane, which cannot be divided: every rank reads it all, so that none waits for another.
Validation AttachTask::validate(const ProgressReport& progress) {
  const at::NoGradGuard no_grad;
  const auto start = std::chrono::steady_clock::now();
  Validation result;
  auto session = model_->new_session(1);
  const int64_t targets = lane_targets(valid_, 1);
  for (int64_t position = 0; position < targets; position += config_.segment_tokens) {
    const auto losses = read_segment(valid_, {}, position, session, true, false);
    result.add(losses, losses.adapted.numel());
    if (progress) progress({result.adapted.count, targets, "tokens", {}});
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

nlohmann::json AttachTask::position() const {
  return {{"lane_position", position_}, {"data_hash", to_hex(train_.tokens->ids_hash())}};
}

void AttachTask::append_state(TensorMap& tensors) const {
  append_carried(tensors, *model_, carried_, config_.rows, ranks_);
}

void AttachTask::restore(const nlohmann::json& position, TensorReader& reader) {
  if (position.at("data_hash") != to_hex(train_.tokens->ids_hash()))
    fail(reader.path(), "the text that the run began with", train_.tokens->path(), "another text");
  position_ = position.at("lane_position").get<int64_t>();
  carried_ = take_carried(reader, *model_, config_.rows, ranks_);
}

void AttachTask::save_model(const std::string& folder) const {
  auto description = description_;
  if (config_.train_base) {
    save_published_model(*base_, config_.base, folder);
    description.base_name = std::filesystem::path(folder).filename().string();
    description.base_hash = model_hash(folder);
  }
  save_adapter(model_->fast_parameters(), description, config_.train_base ? folder + "/adapter" : folder);
}

std::vector<std::pair<std::string, double>> AttachTask::step_sizes() const {
  return model_->step_sizes();
}

}  // namespace fwl
