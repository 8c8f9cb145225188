#include "model/language_model.h"

#include <fmt/format.h>

#include <optional>

#include "engine/reading_window.h"
#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// Without gradients a long text is read in windows; with them in one piece, because gradients end at window boundaries.
int64_t window_tokens(int64_t tokens) {
  return at::GradMode::is_enabled() ? tokens : reading_window_tokens;
}

}  // namespace

Adaptation adaptation_from_name(const std::string& name) {
  if (name == "off") return Adaptation::off;
  if (name == "read") return Adaptation::read;
  if (name == "write") return Adaptation::write;
  fail("adapt", "off, read or write", "'" + name + "'");
}

Session Session::clone() const {
  return {base.clone(), fast.clone(), last_hidden.defined() ? last_hidden.clone() : at::Tensor(), sampler,
          blocks.clone()};
}

BlockState BlockState::clone() const {
  const auto copy = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.clone() : tensor; };
  return {fast.clone(), copy(tokens), copy(targets), copy(token_weights), chunk_tokens};
}

size_t BlockState::bytes() const {
  size_t total = fast.bytes();
  for (const auto& tensor : {tokens, targets, token_weights}) total += tensor.defined() ? tensor.nbytes() : 0;
  return total;
}

void Session::detach() {
  fast = fast.detach();
  blocks.fast = blocks.fast.detach();
}

size_t Session::bytes() const {
  return base.bytes() + fast.bytes() + blocks.bytes() + (last_hidden.defined() ? last_hidden.nbytes() : 0);
}

LanguageModel::LanguageModel(std::shared_ptr<BaseModel> base, std::shared_ptr<const FastMemory> memory,
                             std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const BlockMemory> blocks)
    : base_(std::move(base)),
      memory_(std::move(memory)),
      tokenizer_(std::move(tokenizer)),
      blocks_(std::move(blocks)) {}

void LanguageModel::to(at::Device device) {
  base_->to(device);
  for (auto& [name, tensor] : fast_parameters()) move_to(tensor, device);
}

NamedTensors LanguageModel::fast_parameters() const {
  auto all = memory_ ? memory_->parameters() : NamedTensors{};
  if (blocks_)
    for (auto& named : blocks_->parameters()) all.push_back(std::move(named));
  return all;
}

std::vector<std::string> LanguageModel::step_parameter_names() const {
  auto names = memory_ ? memory_->step_parameter_names() : std::vector<std::string>{};
  if (blocks_)
    for (auto& name : blocks_->step_parameter_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::pair<std::string, double>> LanguageModel::step_sizes() const {
  auto sizes = memory_ ? memory_->step_sizes() : std::vector<std::pair<std::string, double>>{};
  if (blocks_)
    for (auto& size : blocks_->step_sizes()) sizes.push_back(std::move(size));
  return sizes;
}

std::vector<DriftFigure> LanguageModel::drift(const Session& session) const {
  std::vector<DriftFigure> figures;
  if (memory_ && session.fast.is_defined()) figures = memory_->drift(session.fast);
  if (blocks_ && session.blocks.fast.is_defined())
    for (auto& figure : blocks_->drift(session.blocks.fast)) figures.push_back(std::move(figure));
  return figures;
}

NamedTensors LanguageModel::parameters() const {
  auto all = base_->parameters();
  for (auto& named : fast_parameters()) all.push_back(std::move(named));
  return all;
}

Session LanguageModel::new_session(int64_t sequences) const {
  return new_session(sequences, base_->default_context());
}

Session LanguageModel::new_session(int64_t sequences, const ContextOptions& context) const {
  return {base_->new_state(sequences, context), {}, {}, {}, {}};
}

// A text on its way through a call: the tokens that the base reads, and the targets that are known.
struct LanguageModel::Reading {
  at::Tensor inputs;         // B,T
  at::Tensor targets;        // B,T, or B,T-1: the last one is not known
  at::Tensor token_weights;  // B,T or undefined; 0: the token neither updates nor scores
  Session& session;
  const ReadOptions& options;
  int64_t first_scored = 0;  // position of the first target that counts
  int64_t start = 0;         // tokens read so far
  bool keeps_last_hidden = false;
  std::vector<at::Tensor> adapted = {}, slow = {};  // losses of the parts

  int64_t left() const { return inputs.size(1) - start; }
  void add(const Losses& losses) {
    adapted.push_back(losses.adapted);
    if (losses.slow.defined()) slow.push_back(losses.slow);
  }
};

BlockReader LanguageModel::block_reader(Session& session, const ReadOptions& options) const {
  session.base.undo_tokens = blocks_->options().chunk_tokens;
  return BlockReader(*base_, *blocks_, memory_.get(), session, options.adaptation, options.is_training);
}

int64_t LanguageModel::part_tokens(const Reading& reading) const {
  if (!blocks_) return std::min(reading.left(), window_tokens(reading.left()));
  return std::min(reading.left(), block_reader(reading.session, reading.options).room());
}

void LanguageModel::read_part(Reading& reading, int64_t tokens) const {
  const auto part = reading.inputs.narrow(1, reading.start, tokens);
  if (!blocks_)
    return score_part(reading, tokens, {base_->read(part, reading.session.base, {reading.options.is_training}), {}});
  const auto targets = reading.targets.slice(1, reading.start, reading.start + tokens);
  auto weights = reading.token_weights;
  if (reading.first_scored > 0) {  // earlier tokens are context
    if (!weights.defined()) weights = at::ones(reading.targets.sizes(), base_->options());
    weights = weights.clone();
    weights.slice(1, 0, reading.first_scored).zero_();
  }
  if (weights.defined()) weights = weights.slice(1, reading.start, reading.start + tokens);
  auto reader = block_reader(reading.session, reading.options);
  score_part(reading, tokens, reader.read(part, targets, weights));
}

// Scores the targets of a part. In a text that goes on, its first token is the target of the last hidden state.
void LanguageModel::score_part(Reading& reading, int64_t tokens, const BlockReader::Part& part) const {
  auto& session = reading.session;
  const int64_t start = reading.start, known = std::min(tokens, reading.targets.size(1) - start);
  const int64_t skipped = std::clamp<int64_t>(reading.first_scored - start, 0, known);
  const auto of_part = [&](const at::Tensor& all) { return all.slice(1, start + skipped, start + known); };
  auto hidden = part.hidden.slice(1, skipped, known);  // B,n,D
  auto targets = of_part(reading.targets), losses = part.losses.defined() ? part.losses.slice(1, skipped) : part.losses;
  auto weights = reading.token_weights.defined() ? of_part(reading.token_weights) : reading.token_weights;
  reading.start += tokens;
  const auto last_hidden = session.last_hidden;
  if (reading.keeps_last_hidden) session.last_hidden = part.hidden.select(1, tokens - 1).detach().clone();  // B,D
  if (start == 0 && reading.keeps_last_hidden && last_hidden.defined()) {
    const auto first = reading.inputs.narrow(1, 0, 1);  // B,1
    if (losses.defined()) {
      reading.add({score(last_hidden.unsqueeze(1), first, session, reading.options).adapted, {}});
    } else {
      hidden = at::cat({last_hidden.unsqueeze(1), hidden}, 1);
      targets = at::cat({first, targets}, 1);
    }
  }
  if (hidden.size(1) == 0) return;
  if (losses.defined()) {
    if (weights.defined()) losses = losses.masked_fill(weights == 0, 0);
    reading.add({losses, {}});
  } else {
    auto scored = score(hidden, targets.contiguous(), session, reading.options, weights);
    if (blocks_) scored.slow = at::Tensor();
    reading.add(scored);
  }
}

// In one pass, as far as chunks allow: a chunk that ends is learned from on its own.
void LanguageModel::read_side_by_side(std::vector<Reading>& readings) const {
  std::optional<BlockPass> pass;
  if (blocks_) pass.emplace(*blocks_);
  BaseCall call{readings.front().options.is_training};
  std::vector<TokenSpan> spans;
  for (auto& reading : readings) {
    while (blocks_ && part_tokens(reading) < reading.left()) read_part(reading, part_tokens(reading));
    spans.push_back({reading.inputs.slice(1, reading.start), &reading.session.base});
    if (!blocks_) continue;
    auto reader = block_reader(reading.session, reading.options);
    reader.add(spans.back().tokens, reading.targets.slice(1, reading.start), {});
    call = reader.use(*pass);
  }
  const auto hidden = base_->read(spans, call);
  for (size_t index = 0; index < readings.size(); ++index)
    score_part(readings[index], readings[index].left(), {hidden[index], {}});
}

Losses LanguageModel::read_to_end(Reading& reading) const {
  while (reading.left() > 0) read_part(reading, part_tokens(reading));
  if (reading.adapted.empty()) return {at::empty({reading.session.sequences(), 0}, base_->options()), {}};
  return {at::cat(reading.adapted, 1), reading.slow.empty() ? at::Tensor() : at::cat(reading.slow, 1)};
}

Losses LanguageModel::read(const at::Tensor& given, Session& session, const ReadOptions& options) const {
  return read({{given, &session}}, options)[0];
}

std::vector<Losses> LanguageModel::read(const std::vector<SessionTokens>& texts, const ReadOptions& options) const {
  std::vector<Reading> readings;
  for (const auto& [given, session] : texts) {
    const auto tokens = given.to(base_->device(), at::kLong);
    base_->check({tokens, &session->base});
    readings.push_back({.inputs = tokens,
                        .targets = tokens.slice(1, 1),
                        .token_weights = {},
                        .session = *session,
                        .options = options,
                        .keeps_last_hidden = true});
    if (blocks_ && session->last_hidden.defined()) block_reader(*session, options).add_target(tokens.select(1, 0));
  }
  std::vector<Losses> losses;
  if (texts.size() > 1) read_side_by_side(readings);
  for (auto& reading : readings) losses.push_back(read_to_end(reading));
  return losses;
}

Losses LanguageModel::read_targets(const at::Tensor& inputs, const at::Tensor& targets, Session& session,
                                   const ReadOptions& options, int64_t first_scored,
                                   const at::Tensor& token_weights) const {
  Reading reading{.inputs = inputs.to(base_->device(), at::kLong),
                  .targets = targets.to(base_->device(), at::kLong),
                  .token_weights = token_weights.defined() && first_scored > 0
                                       ? at::constant_pad_nd(token_weights, {first_scored, 0})
                                       : token_weights,
                  .session = session,
                  .options = options,
                  .first_scored = first_scored};
  return read_to_end(reading);
}

void LanguageModel::forget_context(Session& session) const {
  if (blocks_) block_reader(session, {}).finish_chunk();
  session.base = base_->new_state(session.sequences(), session.base.context);
  session.last_hidden = at::Tensor();
}

void LanguageModel::advance(const at::Tensor& tokens, Session& session, Adaptation adaptation) const {
  const auto column = tokens.to(base_->device(), at::kLong).view({-1, 1});  // B,1
  at::Tensor hidden;                                                        // B,1,D
  if (blocks_) {
    auto reader = block_reader(session, {adaptation});
    reader.add_target(column);
    hidden = reader.read(column, column.slice(1, 0, 0), {}).hidden;
  } else {
    hidden = base_->read(column, session.base);
  }
  session.last_hidden = hidden.select(1, 0).clone();
}

Losses LanguageModel::score(const at::Tensor& hidden, const at::Tensor& targets, Session& session,
                            const ReadOptions& options, const at::Tensor& token_weights) const {
  const auto head = base_->head();
  if (!memory_) {
    const auto losses = masked_loss(*head, hidden, targets, token_weights);
    return {losses, losses};
  }
  if (options.adaptation == Adaptation::write) {
    MemoryCall call;
    call.token_weights = token_weights;
    call.chunk_tokens = options.chunk_tokens;
    call.wants_slow_loss = options.wants_slow_loss;
    call.leaves_last_segment_open = at::GradMode::is_enabled();
    const auto losses = memory_->read(hidden, targets, head, call, session.fast);
    return {losses.fast, options.wants_slow_loss ? losses.slow : at::Tensor()};
  }
  const auto slow = [&] { return memory_->loss(hidden, targets, head, {}, token_weights); };
  if (options.adaptation == Adaptation::off || !session.fast.is_defined()) {
    const auto losses = slow();
    return {losses, losses};
  }
  return {memory_->loss(hidden, targets, head, session.fast, token_weights),
          options.wants_slow_loss ? slow() : at::Tensor()};
}

at::Tensor LanguageModel::next_logits(const Session& session, Adaptation adaptation) const {
  if (!session.last_hidden.defined()) fail("session", "at least one token read", "none");
  if (!memory_) return base_->head()->logits(session.last_hidden);
  return memory_->logits(session.last_hidden, base_->head(),
                         adaptation == Adaptation::off ? FastState{} : session.fast);
}

}  // namespace fwl
