// The right to change one session, for servers that share a folder: one holder at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace fwl {

struct LeaseOptions {
  std::string holder;   // this server's address, shown to others
  double seconds = 30;  // after which a lease that is not renewed counts for nothing
};

// A small file beside the session's. It is read and replaced under a lock on the folder, so that two servers never both
// believe that they hold it. A server that was killed gets its own leases back at once, others after `seconds`.
class SessionLease {
 public:
  // Throws SessionLeased if another server holds it.
  SessionLease(std::string path, LeaseOptions options);
  ~SessionLease();  // gives it back
  SessionLease(SessionLease&&) = delete;

  void renew();  // does nothing unless a third of the time has passed; throws SessionLeased if it was lost

 private:
  void write(const char* what_if_lost);

  std::string path_;
  LeaseOptions options_;
  std::chrono::steady_clock::time_point renewed_;
};

}  // namespace fwl
