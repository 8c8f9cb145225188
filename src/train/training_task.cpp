#include "train/training_task.h"

#include "engine/torch.h"

namespace fwl {

void sum_over(RankGroup& ranks, const std::vector<LossSum*>& sums) {
  if (ranks.size() == 1) return;
  const auto numbers = at::empty({static_cast<int64_t>(sums.size()), 2}, at::kDouble);
  auto values = numbers.accessor<double, 2>();
  for (int64_t index = 0; index < numbers.size(0); ++index) {
    values[index][0] = sums[static_cast<size_t>(index)]->sum;
    values[index][1] = static_cast<double>(sums[static_cast<size_t>(index)]->count);
  }
  ranks.all_reduce(numbers);
  for (int64_t index = 0; index < numbers.size(0); ++index)
    *sums[static_cast<size_t>(index)] = {values[index][0], static_cast<int64_t>(values[index][1])};
}

LossSum loss_sum(const at::Tensor& losses, int64_t count) {
  return losses.defined() ? LossSum{losses.detach().sum(at::kDouble).item<double>(), count} : LossSum{};
}

BatchLosses batch_losses(const Losses& losses, int64_t count, double slow_share) {
  auto objective = losses.adapted.sum();
  if (slow_share > 0) objective = (1 - slow_share) * objective + slow_share * losses.slow.sum();
  return {objective, loss_sum(losses.adapted, count), loss_sum(losses.slow, count)};
}

void Validation::add(const Losses& losses, int64_t count) {
  adapted += loss_sum(losses.adapted, count);
  slow += loss_sum(losses.slow, count);
}

}  // namespace fwl
