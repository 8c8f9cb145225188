#include "support/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/printable.h"

namespace fwl {
namespace {

constexpr size_t longest_reason = 200;

// "[json.exception.parse_error.101] parse error at line 1, column 2: …" without the bracket.
std::string_view plain_reason(std::string_view what) {
  const auto bracket = what.find("] ");
  return bracket == std::string_view::npos ? what : what.substr(bracket + 2);
}

}  // namespace

nlohmann::json parse_json(std::string_view where, std::string_view text, int deepest) {
  const auto check_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > deepest) fail(where, fmt::format("JSON nested at most {} deep", deepest), "deeper nesting");
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), check_depth);
  } catch (const nlohmann::json::exception& error) {
    throw UserError(
        fmt::format("{}: not valid JSON: {}", where, printable(plain_reason(error.what()), longest_reason)));
  }
}

}  // namespace fwl
