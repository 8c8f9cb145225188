// Parses results of `fwl perplexity`: its JSON, as printed or as stored with the per-token losses.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct LossDifference {
  double mean = 0;                  // nats per token
  std::optional<double> low, high;  // of a 95 % interval, if losses can be paired
};

struct MethodResult {
  std::string method;
  int64_t tokens = 0;
  double nll = 0, perplexity = 0, perplexity_error = 0;
  double bits_per_byte = 0;                      // 0 or less: unknown
  double tokens_per_second = 0, peak_bytes = 0;  // NaN: not measured
  std::vector<double> nll_by_block;              // block_means of its losses; empty: not kept
  std::optional<LossDifference> difference;      // to the first method of the same result
};

struct EvaluationResult {
  std::string path;
  std::string losses_path;                                    // a file of per-token losses; may be empty
  std::string model, adapter, identity, protocol, data_hash;  // adapter, identity and protocol may be empty
  int64_t context_tokens = 0;                                 // of a window; 0: unknown or without a limit
  std::vector<MethodResult> methods;
};

// Throws a UserError that names `where`. Numbers that are not finite are null in JSON and NaN here.
EvaluationResult parse_result(const std::string& where, std::string_view json);

// Parts of it. Parsing throws nlohmann::json's exceptions.
MethodResult parse_method(const nlohmann::json& json);
LossDifference parse_difference(const nlohmann::json& json);
nlohmann::json to_json(const MethodResult& result);
nlohmann::json to_json(const LossDifference& difference);

// From a file of fwl perplexity --save-nll.
EvaluationResult result_of_losses(const std::string& path);

// Between two files of losses, FILE or FILE:METHOD, paired by token; none if their tokens differ.
std::optional<LossDifference> paired_difference(const std::string& before, const std::string& after);
// Between results on the same tokens that have kept their losses by block; none if one has not.
std::optional<LossDifference> paired_difference(const MethodResult& before, const MethodResult& after);

}  // namespace fwl
