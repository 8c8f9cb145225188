#include "blocks/block_config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/torch.h"
#include "support/error.h"
#include "support/fields.h"

namespace fwl {
namespace {

constexpr const char* where = "blocks.at";

int64_t block_number(std::string_view text, int64_t base_blocks) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number >= base_blocks)
    fail(
        where,
        fmt::format("all, last-half, first-half, none, head, or blocks from 0 to {}, as in 3,7,12-29", base_blocks - 1),
        fmt::format("'{}'", text));
  return number;
}

std::set<int64_t> range_of_blocks(int64_t first, int64_t last) {
  std::set<int64_t> blocks;
  for (int64_t block = first; block <= last; ++block) blocks.insert(block);
  if (blocks.empty()) fail(where, "a range of blocks in ascending order", fmt::format("{}-{}", first, last));
  return blocks;
}

std::set<int64_t> blocks_of_part(std::string_view part, int64_t base_blocks) {
  if (part == "all") return range_of_blocks(0, base_blocks - 1);
  if (part == "last-half") return range_of_blocks(base_blocks / 2, base_blocks - 1);
  if (part == "first-half") return range_of_blocks(0, (base_blocks + 1) / 2 - 1);
  if (part == "head") return {base_blocks};
  const size_t dash = part.find('-');
  const int64_t first = block_number(part.substr(0, dash), base_blocks);
  return range_of_blocks(first,
                         dash == std::string_view::npos ? first : block_number(part.substr(dash + 1), base_blocks));
}

}  // namespace

std::vector<int64_t> named_blocks(const std::string& text, int64_t base_blocks) {
  if (text == "none") return {};
  std::set<int64_t> blocks;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    blocks.merge(blocks_of_part(std::string_view(text).substr(start, end - start), base_blocks));
    start = end + 1;
  }
  return {blocks.begin(), blocks.end()};
}

std::shared_ptr<const BlockMemory> BlockConfig::make(int64_t base_blocks, int64_t hidden_size, WeightSource& source,
                                                     bool is_first_order) const {
  if (!is_present()) return nullptr;
  const BlockMemoryOptions options{.blocks = named_blocks(at, base_blocks),
                                   .chunk_tokens = chunk_tokens,
                                   .warmup_chunks = warmup_chunks,
                                   .max_update = max_update,
                                   .rule = block_rule_from(rule),
                                   .momentum = momentum,
                                   .passes = passes,
                                   .is_first_order = is_first_order};
  const auto blocks = static_cast<int64_t>(options.blocks.size());
  BlockMemoryParameters parameters;
  parameters.keys = source.tensor("blocks.U", {blocks, hidden_size, rank}, Initial::fan_in(hidden_size));
  parameters.log_steps = source.tensor("blocks.log_steps", {blocks}, Initial::constant(std::log(step)));
  if (decay > 0)
    parameters.decay_logits =
        source.tensor("blocks.decay_logits", {blocks}, Initial::constant(std::log(decay / (1 - decay))));
  if (has_start) parameters.start = source.tensor("blocks.W", {blocks, rank, hidden_size}, Initial::constant(0));
  if (has_token_rates && is_first_order)
    fail("blocks.token_rates", "training of second order", "first order", "rates are learned through the gradients");
  if (has_token_rates) parameters.rates = source.tensor("blocks.rates", {hidden_size}, Initial::constant(0));
  return std::make_shared<BlockMemory>(std::move(parameters), options);
}

std::shared_ptr<const BlockMemory> BlockConfig::untrained(const BaseModel& base) const {
  FreshWeights fresh(0, base.options());
  return make(base.blocks(), base.hidden_size(), fresh);
}

std::string BlockConfig::description() const {
  auto copy = *this;
  Fields fields;
  add_fields(fields, copy);
  return fields.to_json().dump();
}

void add_fields(Fields& fields, BlockConfig& config) {
  fields
      .add("blocks.at", config.at,
           "blocks with fast weights: all, last-half, first-half, none, 3,7,12-29; head: before the head")
      .alias("blocks");
  fields.add("blocks.rank", config.rank, "rows of each block's fast matrix").range(1, 1 << 16);
  fields.add("blocks.chunk_tokens", config.chunk_tokens, "tokens between two updates").range(1, 1 << 20);
  fields.add("blocks.step", config.step, "step size, independent of the model's scale").range(1e-9, 1e9);
  fields.add("blocks.warmup_chunks", config.warmup_chunks, "chunks over which the step size grows").range(0, 1 << 20);
  fields.add("blocks.decay", config.decay, "decay of the fast weights per chunk; 0: none").range(0, 0.999999);
  fields.add("blocks.max_update", config.max_update, "bound on an update relative to that of equal gradients; 0: none")
      .range(0, 1e9);
  fields.add("blocks.rule", config.rule, "how a chunk's step becomes an update").choices(block_rule_names());
  fields.add("blocks.momentum", config.momentum, "share of the mean step that a chunk keeps, for that rule")
      .range(0, 0.999999);
  fields.add("blocks.passes", config.passes, "updates per chunk").range(1, 64);
  fields.add("blocks.token_rates", config.has_token_rates, "learn how much each token counts in its chunk's step");
  fields.add("blocks.start", config.has_start, "learn the weights that a new text starts with");
}

}  // namespace fwl
