// Phi-3, Phi-3.5, Phi-4 and Phi-4-mini: queries, keys and values from one matrix, gate and up from one. Long-context
// models stretch each frequency by its own factor (longrope), with other factors beyond the length of the first stage
// of training; here they read up to that length.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "architecture/decoder_files.h"
#include "architecture/rotary_scaling.h"
#include "engine/torch.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

void limit_context(DecoderConfig& config, int64_t original_tokens) {
  config.context_limit =
      fmt::format("up to {} tokens need the long factors of longrope, which are not supported", config.context_tokens);
  config.context_tokens = std::min(config.context_tokens, original_tokens);
}

std::shared_ptr<BaseModel> open_phi3_gguf(const Architecture::GgufPointer& file, WeightFormat format) {
  auto config = decoder_from_gguf(file);
  const GgufSettings settings(*file);
  const int64_t original_tokens = settings.count("rope.scaling.original_context_length", config.context_tokens);
  auto& rotary = config.rotaries[0];
  if (file->find_tensor("rope_factors_short.weight")) {
    rotary.divisors = gguf_vector(file, "rope_factors_short.weight", rotary.size / 2);
    rotary.scale = settings.number(
        "rope.scaling.attn_factor",
        longrope_scale(static_cast<double>(config.context_tokens), static_cast<double>(original_tokens)));
    limit_context(config, original_tokens);
  }
  set_window(config, settings.count_or_none("attention.sliding_window"));
  return make_decoder(config, file, format);
}

at::Tensor short_factors(const FolderConfig& json, int64_t count) {
  const auto where = json.where() + ": short_factor";
  const auto& factors = json_or_null(rotary_settings(json), "short_factor");
  if (!factors.is_array() || factors.size() != static_cast<size_t>(count))
    fail(where, fmt::format("a list of {} numbers", count), json_number_or_kind(factors));
  std::vector<double> numbers;
  for (const auto& factor : factors) {
    if (!factor.is_number() || !(factor.get<double>() > 0))
      fail(where, "positive numbers", json_number_or_kind(factor));
    numbers.push_back(factor.get<double>());
  }
  return at::tensor(numbers, at::kDouble);
}

// At the top of the config or, in newer folders, beside the factors.
int64_t original_context(const FolderConfig& json) {
  constexpr auto name = "original_max_position_embeddings";
  const bool is_inside = !json_or_null(json.json(), "rope_parameters").is_null();
  return (is_inside ? json.part("rope_parameters") : json).count(name, json.count(name, 4096));
}

std::shared_ptr<BaseModel> open_phi3_folder(const Architecture::FolderPointer& folder, WeightFormat format) {
  const FolderConfig json(*folder);
  auto config = decoder_from_folder(json, "phi3", {.norm_epsilon = 1e-5});
  config.has_joined_attention = config.has_joined_gate = true;
  if (is_longrope(json)) {
    auto& rotary = config.rotaries[0];
    const int64_t original_tokens = original_context(json);
    rotary.divisors = short_factors(json, rotary.size / 2);
    rotary.scale = longrope_scale(static_cast<double>(config.context_tokens), static_cast<double>(original_tokens));
    limit_context(config, original_tokens);
  }
  set_window(config, json.count_or_none("sliding_window"));
  expect_activation(json, "hidden_act", "silu");
  return make_decoder(config, folder, format);
}

}  // namespace

Architecture phi3_architecture() {
  return {.name = "phi3",
          .gguf_names = {"phi3"},
          .open_gguf = open_phi3_gguf,
          .folder_names = {"phi3"},
          .open_folder = open_phi3_folder};
}

}  // namespace fwl
