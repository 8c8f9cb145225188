#include "tokenizer/pre_tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

// As published with the models.
constexpr auto gpt2_pattern = R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr auto llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr auto qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr auto gpt4o_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr auto tekken_pattern = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                                R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                                R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::map<std::string, std::vector<SplitStep>, std::less<>>& published() {
  const std::vector<SplitStep> gpt2 = {gpt2_step()}, smollm = {digits_step(true), gpt2_step()},
                               llama3 = {{.pattern = llama3_pattern}}, qwen2 = {{.pattern = qwen2_pattern}},
                               gpt4o = {{.pattern = gpt4o_pattern}}, tekken = {{.pattern = tekken_pattern}};
  static const std::map<std::string, std::vector<SplitStep>, std::less<>> by_name = {
      {"default", gpt2},     {"gpt-2", gpt2},    {"gpt2", gpt2},         {"olmo", gpt2},
      {"phi-2", gpt2},       {"mpt", gpt2},      {"jina-v2-code", gpt2}, {"smollm", smollm},
      {"starcoder", smollm}, {"refact", smollm}, {"command-r", smollm},  {"codeshell", smollm},
      {"llama-bpe", llama3}, {"llama3", llama3}, {"llama-v3", llama3},   {"dbrx", llama3},
      {"smaug-bpe", llama3}, {"qwen2", qwen2},   {"stablelm2", qwen2},   {"deepseek-r1-qwen", qwen2},
      {"gpt-4o", gpt4o},     {"llama4", gpt4o},  {"falcon3", llama3},    {"pixtral", llama3},
      {"lfm2", llama3},      {"megrez", qwen2},  {"tekken", tekken},
  };
  return by_name;
}

}  // namespace

SplitStep gpt2_step() {
  return {.pattern = gpt2_pattern};
}

SplitStep digits_step(bool one_by_one) {
  return {.pattern = one_by_one ? R"(\p{N})" : R"(\p{N}+)"};
}

bool takes_whole_pieces(std::string_view name) {
  constexpr std::string_view names[] = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2", "tekken"};
  return std::ranges::find(names, name) != std::end(names);
}

std::vector<SplitStep> published_split(std::string_view where, std::string_view name) {
  const auto found = published().find(name);
  if (found != published().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, steps] : published()) names.push_back(known);
  fail(where, fmt::format("one of {}", fmt::join(names, ", ")), fmt::format("'{}'", name), did_you_mean(name, names));
}

bool is_published(const SplitStep& step) {
  // GPT-2's original spelling of its pattern, found in some files.
  constexpr auto gpt2_long_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  if (step.pattern.empty() || step.pattern == gpt2_long_pattern) return true;
  if (step.pattern == digits_step(true).pattern || step.pattern == digits_step(false).pattern) return true;
  for (const auto& [name, steps] : published())
    for (const auto& known : steps)
      if (known.pattern == step.pattern) return true;
  return false;
}

PreTokenizer::PreTokenizer(const std::string& where, const std::vector<SplitStep>& steps) {
  for (const auto& step : steps) steps_.push_back({step, SplitPattern(where, step.pattern, step.is_literal)});
}

}  // namespace fwl
