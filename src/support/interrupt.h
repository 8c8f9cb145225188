// Turns Ctrl-C, SIGTERM and SIGHUP into a flag that long loops check, so that they can save before the program ends.
#pragma once

#include <csignal>
#include <exception>

namespace fwl {

// Thrown by throw_if_interrupted(); the program ends with 128 + signal, as shells expect.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

// While this object exists, the first signal sets the flag and a second one ends the program at once.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
  struct sigaction before_hang_up_ {};
};

int received_interrupt();  // the signal, or 0
void throw_if_interrupted();

}  // namespace fwl
