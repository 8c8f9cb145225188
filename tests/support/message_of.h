// What a user would read when something fails.
#pragma once

#include <string>

#include "support/error.h"

namespace fwl {

// The line of the UserError that `action` throws, or "no error".
template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace fwl
