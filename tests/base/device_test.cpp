// Where a model's weights are and of what type: everything that is made of them follows.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/base_samples.h"

namespace fwl {
namespace {

at::Tensor some_tokens() {
  at::manual_seed(1);
  return at::randint(sample_vocabulary, {2, 30}, at::kLong);
}

TEST(Device, MovingToTheSameDeviceKeepsEveryTensor) {
  for (const auto& [name, model] : sample_bases()) {
    const auto before = model->parameters();
    model->to(at::kCPU);
    const auto after = model->parameters();
    ASSERT_EQ(before.size(), after.size()) << name;
    for (size_t index = 0; index < before.size(); ++index)
      EXPECT_EQ(before[index].second.data_ptr(), after[index].second.data_ptr()) << name;
    EXPECT_EQ(model->device(), at::Device(at::kCPU));
  }
}

TEST(Device, TheTypeOfTheWeightsIsThatOfStatesAndHiddenStates) {
  const at::NoGradGuard no_grad;
  const auto singles = sample_bases(), doubles = sample_bases(at::kDouble);
  for (size_t index = 0; index < doubles.size(); ++index) {
    const auto& [name, model] = doubles[index];
    EXPECT_EQ(model->dtype(), at::kDouble) << name;
    auto state = model->new_state(2);
    const auto hidden = model->read(some_tokens(), state);
    EXPECT_EQ(hidden.scalar_type(), at::kDouble) << name;
    for (const auto& tensor : state.cache) EXPECT_EQ(tensor.scalar_type(), at::kDouble) << name;
    const auto losses = model->head()->loss(hidden.flatten(0, 1), some_tokens().flatten());
    EXPECT_EQ(losses.scalar_type(), at::kDouble) << name;
    auto single_state = singles[index].model->new_state(2);
    const auto single = singles[index].model->read(some_tokens(), single_state);
    EXPECT_LT((single.to(at::kDouble) - hidden).abs().max().item<double>(), 1e-5) << name;
  }
}

TEST(Device, AQuantizedMatrixIsDenseForAllItsHandlesWhenItLeavesTheCpu) {
  const auto numbers = at::randn({3, 32}).to(at::kHalf).contiguous();
  const Matrix matrix(numbers.view(at::kByte), GgufType::F16, 32);
  auto handle = matrix;
  handle.to(at::kCPU);
  EXPECT_TRUE(matrix.is_quantized());
  EXPECT_TRUE(at::equal(matrix.dequantized(), numbers.to(at::kFloat)));
  handle.to(at::kMeta);
  EXPECT_FALSE(matrix.is_quantized());
  EXPECT_TRUE(matrix.dense().is_meta());
  EXPECT_EQ(matrix.columns(), 32);
}

}  // namespace
}  // namespace fwl
