#include "report/generation_samples.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/error.h"
#include "support/json.h"

namespace fwl {
namespace {

std::string_view take_sample_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

bool looks_like_samples(std::string_view text) {
  return take_sample_line(text).find("\"finish_reason\"") != std::string_view::npos;
}

GenerationSamples parse_samples(const std::string& where, std::string_view lines) {
  GenerationSamples result;
  result.path = where;
  std::vector<double> repeated;
  while (!lines.empty()) {
    const auto line = take_sample_line(lines);
    if (line.empty()) continue;
    const auto json = parse_json(where, line);
    try {
      result.model = json.at("model").get<std::string>();
      result.adapt = json.at("adapt").get<std::string>();
      result.tokens += static_cast<int64_t>(json.at("tokens").size());
      for (size_t length = 0; length < result.distinct.size(); ++length)
        result.distinct[length] += json.at("distinct").at(length).get<double>();
      repeated.push_back(json.at("repeated_4_grams").get<double>());
    } catch (const nlohmann::json::exception&) {
      fail(where, "lines of fwl generate --json", "JSON with other fields", "made by another version?");
    }
  }
  if (repeated.empty()) fail(where, "lines of fwl generate --json", "none");
  const auto count = static_cast<double>(repeated.size());
  result.samples = static_cast<int64_t>(repeated.size());
  for (auto& share : result.distinct) share /= count;
  double squares = 0;
  for (const double share : repeated) result.repeated_4_grams += share / count;
  for (const double share : repeated) squares += std::pow(share - result.repeated_4_grams, 2);
  result.repeated_4_error = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  return result;
}

}  // namespace fwl
