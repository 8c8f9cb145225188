#include "serve/api_error.h"

#include "serve/json_text.h"
#include "sessions/session_errors.h"

namespace fwl {
namespace {

const char* error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 409:
      return "conflict_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

int status_of(const std::exception& error) {
  if (dynamic_cast<const QueueFull*>(&error)) return 429;
  if (dynamic_cast<const NoSuchSession*>(&error)) return 404;
  if (dynamic_cast<const SessionExists*>(&error)) return 409;
  if (dynamic_cast<const JobStopped*>(&error)) return 503;
  return dynamic_cast<const UserError*>(&error) ? 400 : 500;
}

}  // namespace

HttpAnswer error_answer(int status, const std::string& message) {
  const nlohmann::json json = {{"error", {{"message", message}, {"type", error_type(status)}, {"code", status}}}};
  HttpAnswer answer{.status = status, .body = json_text(json)};
  if (status == 429 || status == 503 || status == 409) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

HttpAnswer error_answer(const std::exception& error) {
  if (const auto* known = dynamic_cast<const ApiError*>(&error)) return error_answer(known->status(), known->what());
  if (const auto* locked = dynamic_cast<const SessionLocked*>(&error)) {
    auto answer = error_answer(409, error.what());
    if (!locked->server().empty()) answer.headers.emplace_back("X-Session-Holder", locked->server());
    return answer;
  }
  return error_answer(status_of(error), error.what());
}

HttpAnswer error_answer(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return error_answer(known);
  }
}

}  // namespace fwl
