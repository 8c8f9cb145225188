// A process group of the engine (torch.distributed), found by the name under which Python registered it.
#pragma once

#include <memory>
#include <string>

#include "parallel/rank_group.h"

namespace fwl {

std::unique_ptr<RankGroup> open_engine_group(const std::string& name, double timeout_seconds);

}  // namespace fwl
