// Turns whatever ended a command into one line and an exit code.
#pragma once

#include "cli/console.h"

namespace fwl {

// Call while an exception is handled. Prints one line; with FWL_TRACE=1 also all that an unexpected exception says.
int report_failure(Console& console);

}  // namespace fwl
