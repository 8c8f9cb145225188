// Saves and loads sessions; loading checks them against the model.
#include "model/session_file.h"

#include <fmt/format.h>

#include "engine/torch.h"
#include "model/language_model.h"
#include "support/error.h"
#include "weights/tensor_reader.h"

namespace fwl {
namespace {

constexpr const char* session_format = "fwl-session-2";
constexpr const char* scale_suffix = ".scale";

std::string cache_name(size_t index) {
  return fmt::format("base.cache.{}", index);
}

std::string chunk_name(const char* part) {
  return std::string(block_chunk_prefix) + part;
}

std::string text_of(const TextMap& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

at::Tensor context_tensor(const ContextOptions& context) {
  return numbers_tensor({context.context_tokens, static_cast<int64_t>(context.long_text), context.memory_tokens,
                         context.clamp_tokens, context.is_same_length ? 1 : 0});
}

ContextOptions take_context(TensorReader& reader) {
  const auto numbers = reader.take_numbers("base.context", 5);
  if (numbers[1] > static_cast<int64_t>(LongText::restart) || numbers[4] > 1)
    fail(reader.path(), "a context", "impossible numbers", "the file is damaged");
  return {numbers[0], static_cast<LongText>(numbers[1]), numbers[2], numbers[3], numbers[4] == 1};
}

void append_cache(TensorMap& tensors, const std::string& name, const at::Tensor& cache, CachePrecision precision) {
  if (precision == CachePrecision::bf16) {
    tensors[name] = cache.to(at::kBFloat16);
  } else if (precision == CachePrecision::q8) {
    const auto wide = cache.scalar_type() == at::kBFloat16 ? cache.to(at::kFloat) : cache;
    const auto scale = wide.abs().amax(-1, true).clamp_min(1e-20) / 127;  // like the cache, 1 in the last dimension
    tensors[name] = (wide / scale).round().to(at::kChar);
    tensors[name + scale_suffix] = scale;
  } else {
    tensors[name] = cache;
  }
}

// As the file has it: at full precision, in bf16, or in 8 bits with scales.
at::Tensor take_cache(TensorReader& reader, const std::string& name, std::vector<int64_t> shape, at::ScalarType type) {
  const auto stored = reader.has(name) ? reader.left().at(name).scalar_type() : type;
  if (stored != at::kChar) return reader.take_finite(name, shape, stored == at::kBFloat16 ? stored : type).to(type);
  const auto rounded = reader.take(name, shape, at::kChar);
  shape.back() = 1;
  return rounded.to(type) * reader.take_finite(name + scale_suffix, shape, type);
}

BaseState take_base(TensorReader& reader, const BaseModel& model, int64_t undo_tokens) {
  const auto numbers = reader.take_numbers("base.numbers", 5);
  const int64_t most = int64_t{1} << 40;
  for (const auto number : numbers)
    if (number > most) fail(reader.path(), "counts of tokens", std::to_string(number), "the file is damaged");
  auto state = model.new_state(numbers[0], take_context(reader));
  state.tokens_read = numbers[1];
  state.cached_tokens = numbers[2];
  state.window_start = numbers[3];
  state.undo_tokens = undo_tokens;
  if (state.window_start > state.tokens_read)
    fail(reader.path(), "a text that goes on", "impossible positions", "the file is damaged");
  state.cache.resize(static_cast<size_t>(std::min<int64_t>(numbers[4], 1 << 20)));
  const auto shapes = model.cache_shapes(state);
  if (shapes.size() != state.cache.size())
    fail(reader.path(), fmt::format("{} cached tensors", shapes.size()), std::to_string(state.cache.size()),
         "a session of another model?");
  for (size_t index = 0; index < shapes.size(); ++index)
    state.cache[index] = take_cache(reader, cache_name(index), shapes[index], model.dtype()).to(model.device());
  if (reader.has("base.recent")) {
    const auto count = reader.take_number("base.recent_tokens");
    state.recent = reader.take("base.recent", {state.sequences, count}, at::kLong).to(model.device());
    if (count > 0 &&
        (state.recent.min().item<int64_t>() < 0 || state.recent.max().item<int64_t>() >= model.vocabulary_size()))
      fail(reader.path(), "tokens of the model's vocabulary", "others", "the file is damaged");
  }
  return state;
}

// The state of the memories, and the open chunk that they learn from next.
void append_blocks(TensorMap& tensors, const BlockState& blocks) {
  append_state(tensors, block_state_prefix, blocks.fast);
  if (!blocks.tokens.defined()) return;
  tensors[chunk_name("numbers")] = numbers_tensor({blocks.chunk_tokens, blocks.tokens.size(1), blocks.targets.size(1)});
  tensors[chunk_name("tokens")] = blocks.tokens;
  if (blocks.targets.size(1) == 0) return;
  tensors[chunk_name("targets")] = blocks.targets;
  tensors[chunk_name("token_weights")] = blocks.token_weights;
}

BlockState take_blocks(TensorReader& reader, const BlockMemory& memory, const BaseModel& model, const BaseState& base) {
  const int64_t sequences = base.sequences, most = memory.options().chunk_tokens;
  BlockState blocks;
  blocks.fast = take_state(reader, block_state_prefix, memory.state_layout());
  const auto damaged = [&](const char* what) { fail(reader.path(), what, "others", "the file is damaged"); };
  if (blocks.fast.sequences() != sequences) damaged("fast weights of as many texts as the session has");
  if (!reader.has(chunk_name("numbers"))) return blocks;
  const auto numbers = reader.take_numbers(chunk_name("numbers"), 3);
  blocks.chunk_tokens = numbers[0];
  if (numbers[0] < 1 || numbers[0] > most || numbers[1] < 1 || numbers[1] > std::min(numbers[0], base.tokens_read) ||
      numbers[2] < numbers[1] - 1 || numbers[2] > numbers[1])
    damaged("a chunk that the memories can learn from");
  const auto ids = [&](const std::string& name, int64_t count) {
    const auto tensor = reader.take(name, {sequences, count}, at::kLong);
    if (tensor.min().item<int64_t>() < 0 || tensor.max().item<int64_t>() >= model.vocabulary_size())
      damaged("tokens of the model's vocabulary");
    return tensor.to(model.device());
  };
  blocks.tokens = ids(chunk_name("tokens"), numbers[1]);
  blocks.targets = numbers[2] > 0 ? ids(chunk_name("targets"), numbers[2]) : blocks.tokens.slice(1, 0, 0);
  blocks.token_weights =
      numbers[2] > 0
          ? reader.take_finite(chunk_name("token_weights"), {sequences, numbers[2]}, model.dtype()).to(model.device())
          : at::zeros({sequences, 0}, model.options());
  return blocks;
}

void append_sampler(TensorMap& tensors, const SamplerState& sampler) {
  if (sampler.recent.empty() && sampler.seed == 0 && sampler.draws == 0) return;
  tensors["sampler.numbers"] =
      numbers_tensor({sampler.seed, sampler.draws, static_cast<int64_t>(sampler.recent.size())});
  if (!sampler.recent.empty()) tensors["sampler.recent"] = numbers_tensor(sampler.recent);
}

SamplerState take_sampler(TensorReader& reader, int64_t vocabulary_size) {
  SamplerState sampler;
  if (!reader.has("sampler.numbers")) return sampler;
  const auto numbers = reader.take_numbers("sampler.numbers", 3);
  sampler.seed = numbers[0];
  sampler.draws = numbers[1];
  if (numbers[2] > 0) sampler.recent = reader.take_numbers("sampler.recent", numbers[2]);
  for (const auto token : sampler.recent)
    if (token >= vocabulary_size)
      fail(reader.path(), "tokens of the model's vocabulary", std::to_string(token), "the file is damaged");
  return sampler;
}

}  // namespace

TensorReader open_session_file(const std::string& path) {
  TensorReader reader(path, "a session");
  const auto format = text_of(reader.metadata(), "format");
  if (format != session_format)
    fail(path, fmt::format("a session ({})", session_format), "'" + format + "'",
         "not a session file, or of another version");
  return reader;
}

SessionHeader session_header(TensorReader reader) {
  const auto numbers = reader.take_numbers("base.numbers", 5);
  SessionHeader header{text_of(reader.metadata(), "architecture"), text_of(reader.metadata(), "model"), numbers[0],
                       numbers[1], numbers[2]};
  for (const auto* prefix : {fast_state_prefix, block_state_prefix}) {
    const auto name = std::string(prefix) + "tokens_read";
    if (reader.has(name))
      header.fast_tokens = std::max(header.fast_tokens, reader.take_numbers(name, header.sequences)[0]);
  }
  return header;
}

CachePrecision cache_precision_from_name(const std::string& name) {
  if (name == "fp32") return CachePrecision::full;
  if (name == "bf16") return CachePrecision::bf16;
  if (name == "q8") return CachePrecision::q8;
  fail("precision of a session's KV cache", "fp32, bf16 or q8", "'" + name + "'");
}

void LanguageModel::append_session(TensorMap& tensors, const Session& session, CachePrecision precision) const {
  const auto base = base_->trimmed(session.base);
  size_t cached = 0;
  for (const auto& tensor : base.cache)
    if (tensor.defined()) append_cache(tensors, cache_name(cached++), tensor, precision);
  tensors["base.context"] = context_tensor(base.context);
  tensors["base.numbers"] = numbers_tensor(
      {base.sequences, base.tokens_read, base.cached_tokens, base.window_start, static_cast<int64_t>(cached)});
  if (base.recent.defined()) {
    tensors["base.recent"] = base.recent;
    tensors["base.recent_tokens"] = numbers_tensor({base.recent.size(1)});
  }
  if (session.last_hidden.defined()) tensors["last_hidden"] = session.last_hidden;
  if (session.fast.is_defined()) append_state(tensors, fast_state_prefix, session.fast);
  if (session.blocks.fast.is_defined()) append_blocks(tensors, session.blocks);
  append_sampler(tensors, session.sampler);
}

Session LanguageModel::take_session(TensorReader& reader) const {
  Session session;
  const bool has_blocks = blocks_ && reader.has(std::string(block_state_prefix) + "sequences");
  session.base = take_base(reader, *base_, has_blocks ? blocks_->options().chunk_tokens : 0);
  if (reader.has("last_hidden"))
    session.last_hidden = reader.take_finite("last_hidden", {session.sequences(), base_->hidden_size()}, base_->dtype())
                              .to(base_->device());
  if (memory_ && reader.has(std::string(fast_state_prefix) + "sequences")) {
    session.fast = take_state(reader, fast_state_prefix, memory_->state_layout(*base_->head()));
    if (session.fast.sequences() != session.sequences())
      fail(reader.path(), fmt::format("fast weights of {} texts", session.sequences()),
           std::to_string(session.fast.sequences()), "the file is damaged");
  }
  if (has_blocks) session.blocks = take_blocks(reader, *blocks_, *base_, session.base);
  session.sampler = take_sampler(reader, base_->vocabulary_size());
  return session;
}

void LanguageModel::save_session(const Session& session, const std::string& path, const std::string& identity,
                                 CachePrecision precision, const TextMap& notes) const {
  TensorMap tensors;
  append_session(tensors, session, precision);
  TextMap metadata = {{"format", session_format}, {"architecture", base_->architecture()}, {"model", identity}};
  metadata.insert(notes.begin(), notes.end());
  save_checked_tensors(tensors, path, std::move(metadata));
}

std::string session_note(const TensorReader& reader, const std::string& key) {
  return text_of(reader.metadata(), key);
}

Session LanguageModel::load_session(const std::string& path, const std::string& identity) const {
  auto reader = open_session_file(path);
  const auto made_with = text_of(reader.metadata(), "model");
  if (made_with != identity)
    fail(path, "a session of model " + identity, made_with, "made with another model or adapter");
  auto session = take_session(reader);
  reader.expect_nothing_else();
  return session;
}

}  // namespace fwl
