#include "report/evaluation_result.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "evaluate/analysis.h"
#include "files/safetensors.h"
#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

double number_or_nan(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  return found->get<double>();
}

// One block of tokens has a mean, but no spread.
LossDifference with_interval(const PairedDifference& paired, bool has_spread) {
  if (!has_spread) return {paired.mean, {}, {}};
  return {paired.mean, paired.low, paired.high};
}

}  // namespace

MethodResult parse_method(const nlohmann::json& json) {
  MethodResult result;
  result.method = json.at("method").get<std::string>();
  result.tokens = json.at("tokens").get<int64_t>();
  result.nll = number_or_nan(json, "nll");
  result.perplexity = number_or_nan(json, "perplexity");
  result.perplexity_error = number_or_nan(json, "perplexity_error");
  result.bits_per_byte = number_or_nan(json, "bits_per_byte");
  result.tokens_per_second = number_or_nan(json, "tokens_per_second");
  result.peak_bytes = number_or_nan(json, "peak_bytes");
  if (const auto found = json.find("nll_by_block"); found != json.end())
    result.nll_by_block = found->get<std::vector<double>>();
  if (const auto found = json.find("difference"); found != json.end()) result.difference = parse_difference(*found);
  return result;
}

LossDifference parse_difference(const nlohmann::json& json) {
  LossDifference difference{number_or_nan(json, "nll"), {}, {}};
  if (json.contains("low") && json.contains("high")) {
    difference.low = number_or_nan(json, "low");
    difference.high = number_or_nan(json, "high");
  }
  return difference;
}

nlohmann::json to_json(const LossDifference& difference) {
  nlohmann::json json = {{"nll", difference.mean}, {"perplexity_ratio", std::exp(difference.mean)}};
  if (difference.low && difference.high) {
    json["low"] = *difference.low;
    json["high"] = *difference.high;
  }
  return json;
}

nlohmann::json to_json(const MethodResult& result) {
  return {{"method", result.method},
          {"tokens", result.tokens},
          {"nll", result.nll},
          {"perplexity", result.perplexity},
          {"perplexity_error", result.perplexity_error},
          {"bits_per_byte", result.bits_per_byte},
          {"tokens_per_second", result.tokens_per_second},
          {"peak_bytes", result.peak_bytes}};
}

EvaluationResult parse_result(const std::string& where, std::string_view text) {
  auto json = parse_json(where, text);
  if (json.is_object() && json.contains("command") && json.contains("result"))  // as stored by fwl reproduce
    json = nlohmann::json(json["result"]);
  const char* expected = "a result of fwl perplexity --json";
  if (!json.is_object() || !json.contains("methods") || !json.contains("data_hash"))
    fail(where, expected, "other JSON");
  try {
    EvaluationResult result;
    result.path = where;
    result.model = json.at("model").get<std::string>();
    result.adapter = json.value("adapter", "");
    result.identity = json.value("identity", "");
    result.protocol = json.value("protocol", "");
    result.data_hash = json.at("data_hash").get<std::string>();
    result.context_tokens = json.value("context", int64_t{0});
    for (const auto& method : json.at("methods")) result.methods.push_back(parse_method(method));
    if (result.methods.empty()) fail(where, expected, "one without methods");
    return result;
  } catch (const nlohmann::json::exception&) {
    fail(where, expected, "JSON with other fields", "made by another version?");
  }
}

EvaluationResult result_of_losses(const std::string& path) {
  const SafetensorsFile file(path);
  const auto found = file.metadata().find("result");
  if (found == file.metadata().end())
    fail(path, "losses of fwl perplexity --save-nll", "a file without its result",
         "other tensors, or an older version");
  file.expect_checksum("losses");
  auto result = parse_result(path, found->second);
  result.losses_path = path;
  return result;
}

std::optional<LossDifference> paired_difference(const std::string& before, const std::string& after) {
  try {
    const auto pair = load_pair(before, after);
    const auto paired = compare({{}, pair.targets, pair.before}, {{}, pair.targets, pair.after});
    return with_interval(paired, pair.targets.size() >= 2 * error_block_tokens);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

std::optional<LossDifference> paired_difference(const MethodResult& before, const MethodResult& after) {
  const auto& first = before.nll_by_block;
  if (first.empty() || first.size() != after.nll_by_block.size() || before.tokens != after.tokens) return std::nullopt;
  const auto paired = compare(before.nll, first, after.nll, after.nll_by_block);
  return with_interval(paired, first.size() > 1);
}

}  // namespace fwl
