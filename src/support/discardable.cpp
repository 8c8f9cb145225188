#include "support/discardable.h"

#include "support/interrupt.h"

namespace fwl {
namespace {

thread_local int scopes = 0;

}  // namespace

DiscardableWork::DiscardableWork() {
  ++scopes;
}

DiscardableWork::~DiscardableWork() {
  --scopes;
}

void end_if_discarded() {
  if (scopes > 0) throw_if_interrupted();
}

}  // namespace fwl
