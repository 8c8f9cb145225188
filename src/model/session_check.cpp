#include "model/session_check.h"

#include <algorithm>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

bool fits(const FastState& state, const StateLayout& layout) {
  return std::ranges::all_of(state.tensors, [&](const auto& named) {
    const auto found = std::ranges::find(layout.tensors, named.first, &StateTensor::name);
    return found != layout.tensors.end() && named.second.sizes().slice(1) == at::IntArrayRef(found->shape);
  });
}

}  // namespace

void expect_own_session(const LanguageModel& model, const Session& session) {
  model.base().expect_own(session.base);
  if (!session.fast.is_defined()) return;
  if (!model.memory() || !fits(session.fast, model.memory()->state_layout(*model.base().head())))
    fail("fast weights", "a session of this model", "the session of another model or adapter");
}

}  // namespace fwl
