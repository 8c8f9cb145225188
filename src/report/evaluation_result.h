// What `fwl perplexity` found out: its JSON, as printed or as kept with the losses of every token.
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
  std::optional<double> low, high;  // of a 95 % interval, where the losses can be compared in pairs
};

struct MethodResult {
  std::string method;
  int64_t tokens = 0;
  double nll = 0, perplexity = 0, perplexity_error = 0;
  double bits_per_byte = 0;  // not above 0: not known
  double tokens_per_second = 0, peak_bytes = 0;
  std::optional<LossDifference> difference;  // to the first method of the same result
};

struct EvaluationResult {
  std::string path;
  std::string losses_path;                                    // a file with the losses of every token; may be empty
  std::string model, adapter, identity, protocol, data_hash;  // adapter, identity and protocol may be empty
  std::vector<MethodResult> methods;
};

// Throws UserError that names `where`. Numbers that are not finite are null in JSON, and NaN here.
EvaluationResult parse_result(const std::string& where, std::string_view json);

// Its parts. Parsing throws what nlohmann::json throws.
MethodResult parse_method(const nlohmann::json& json);
LossDifference parse_difference(const nlohmann::json& json);
nlohmann::json to_json(const MethodResult& result);
nlohmann::json to_json(const LossDifference& difference);

// Of a file of fwl perplexity --save-nll.
EvaluationResult result_of_losses(const std::string& path);

// Of two files of losses, FILE or FILE:METHOD, paired by token; none where they are of other tokens.
std::optional<LossDifference> paired_difference(const std::string& before, const std::string& after);

}  // namespace fwl
