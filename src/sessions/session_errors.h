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

// Another server answers for the session at the moment.
class SessionLeased : public UserError {
 public:
  SessionLeased(const std::string& message, std::string holder) : UserError(message), holder_(std::move(holder)) {}
  const std::string& holder() const { return holder_; }  // the other server's address

 private:
  std::string holder_;
};

// The job took longer than it may, or nobody waits for it any more.
class JobStopped : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace fwl
