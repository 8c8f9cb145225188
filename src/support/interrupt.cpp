#include "support/interrupt.h"

namespace fwl {
namespace {

volatile std::sig_atomic_t received_signal = 0;

void remember(int signal) {
  received_signal = signal;
}

}  // namespace

InterruptScope::InterruptScope() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_interrupt_);
  sigaction(SIGTERM, &action, &before_terminate_);
  sigaction(SIGHUP, &action, &before_hang_up_);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
  sigaction(SIGHUP, &before_hang_up_, nullptr);
  received_signal = 0;
}

int received_interrupt() {
  return received_signal;
}

void throw_if_interrupted() {
  if (received_signal != 0) throw Interrupted(received_signal);
}

}  // namespace fwl
