// Checks before a command runs that it replaces none of the files that it reads.
#pragma once

#include "cli/command.h"

namespace fwl {

// Throws a UserError if a file that a field names for writing is read through another field, or written twice.
void check_outputs(const Command& command);

}  // namespace fwl
