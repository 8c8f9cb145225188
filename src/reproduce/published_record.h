// Whether a published run is still the plan's: its record beside the command that would train it now.
#pragma once

#include <string>
#include <vector>

#include "reproduce/table_plan.h"

namespace fwl {

// The settings (--set key=value) of a training command that the record of a run has otherwise, a text each.
std::vector<std::string> differing_settings(const std::string& record_path, const Arguments& training);

}  // namespace fwl
