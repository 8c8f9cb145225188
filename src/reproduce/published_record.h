// What the record of a published run says: its steps, and whether it is still the plan's.
#pragma once

#include <string>
#include <vector>

#include "reproduce/table_plan.h"

namespace fwl {

// The settings (--set key=value) of a training command that the record of a run has otherwise, a text each.
std::vector<std::string> differing_settings(const std::string& record_path, const Arguments& training);

// Of a run by its record; 0: there is none.
int64_t training_steps_of(const std::string& record_path);

}  // namespace fwl
