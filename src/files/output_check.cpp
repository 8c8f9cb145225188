#include "files/output_check.h"

#include <sys/stat.h>

#include "support/error.h"

namespace fwl {

void expect_apart(const std::string& output, const std::vector<std::string>& inputs) {
  struct stat written {
  }, read{};
  if (stat(output.c_str(), &written) != 0) return;
  for (const auto& input : inputs)
    if (stat(input.c_str(), &read) == 0 && read.st_dev == written.st_dev && read.st_ino == written.st_ino)
      fail(output, "an output apart from the inputs", input == output ? "an input" : "the input " + input);
}

}  // namespace fwl
