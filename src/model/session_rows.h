// Some texts of a session's batch as a session of their own, and back.
#pragma once

#include <functional>

#include "model/session.h"

namespace fwl {

// The session whose tensors, each with one row per text, are `function` of this one's; it has `rows` texts.
using RowFunction = std::function<at::Tensor(const at::Tensor&)>;
Session map_rows(const Session& session, int64_t rows, const RowFunction& function);

Session session_rows(const Session& session, int64_t first, int64_t count);

}  // namespace fwl
