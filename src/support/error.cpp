#include "support/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace fwl {

std::string error_line(std::string_view where, std::string_view expected, std::string_view got,
                       std::string_view likely_cause) {
  auto line = fmt::format("{}: expected {}, got {}", where, expected, got);
  if (!likely_cause.empty()) line += fmt::format("; {}", likely_cause);
  return line;
}

void fail(std::string_view where, std::string_view expected, std::string_view got, std::string_view likely_cause) {
  throw UserError(error_line(where, expected, got, likely_cause));
}

void fail_with_errno(std::string_view where, std::string_view action) {
  const int code = errno;
  throw UserError(fmt::format("{}: cannot {}: {}", where, action, std::strerror(code)));
}

}  // namespace fwl
