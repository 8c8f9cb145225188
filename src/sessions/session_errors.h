// Why a session engine refuses a job; every other failure is a UserError of its own.
#pragma once

#include <string>

#include "support/error.h"

namespace fwl {

// Too many jobs wait already: come back later.
class QueueFull : public UserError {
 public:
  using UserError::UserError;
};

class NoSuchSession : public UserError {
 public:
  using UserError::UserError;
};

class SessionExists : public UserError {
 public:
  using UserError::UserError;
};

// Another server, or another command, uses the session at the moment.
class SessionLocked : public UserError {
 public:
  SessionLocked(const std::string& message, std::string server) : UserError(message), server_(std::move(server)) {}
  const std::string& server() const { return server_; }  // its address; empty: it is no server

 private:
  std::string server_;
};

// The job took longer than it may, or nobody waits for it any more.
class JobStopped : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace fwl
