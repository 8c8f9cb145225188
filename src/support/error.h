// Errors that a user can cause: one line that says where, what was expected, what was found, and the likely cause.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace fwl {

// Bad input or files: the program prints the message and exits with 1.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A wrong command line: the program prints the message and exits with 2.
class UsageError : public UserError {
 public:
  using UserError::UserError;
};

// "where: expected X, got Y; likely cause". The cause may be empty.
std::string error_line(std::string_view where, std::string_view expected, std::string_view got,
                       std::string_view likely_cause = {});

[[noreturn]] void fail(std::string_view where, std::string_view expected, std::string_view got,
                       std::string_view likely_cause = {});

// Throws the error line of the operating system's last failure, e.g. "a.txt: cannot open: No such file or directory".
[[noreturn]] void fail_with_errno(std::string_view where, std::string_view action);

}  // namespace fwl
