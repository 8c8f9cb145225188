// Outputs are never inputs: a file that is read is not replaced, whatever the names.
#pragma once

#include <string>
#include <vector>

namespace fwl {

// Throws a UserError if `output` exists and is one of the files `inputs`: the same device and inode.
void expect_apart(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace fwl
