// One thread, because the tensors of the tests are tiny and waiting threads keep whole cores busy; tests about threads
// ask for more.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace fwl {
namespace {

class OneThread : public testing::Environment {
 public:
  void SetUp() override { at::set_num_threads(1); }
};

[[maybe_unused]] const auto* const environment = testing::AddGlobalTestEnvironment(new OneThread);

}  // namespace
}  // namespace fwl
