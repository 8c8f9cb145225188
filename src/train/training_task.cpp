#include "train/training_task.h"

#include "engine/torch.h"

namespace fwl {

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
