// Errors of the HTTP API, in the form that OpenAI's clients expect.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "serve/http_message.h"

namespace fwl {

class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// {"error": {"message", "type", "code"}} with the status; 429 and 503 say when to come back.
HttpAnswer error_answer(int status, const std::string& message);

// Answers for any exception: ApiError by its status, the engine's refusals by theirs, other UserErrors with 400,
// everything else with 500.
HttpAnswer error_answer(const std::exception& error);
HttpAnswer error_answer(const std::exception_ptr& error);

}  // namespace fwl
