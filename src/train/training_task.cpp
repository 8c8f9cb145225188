#include "train/training_task.h"

#include <torch/torch.h>

namespace fwl {

LossSum loss_sum(const at::Tensor& losses, int64_t count) {
  return losses.defined() ? LossSum{losses.detach().sum(at::kDouble).item<double>(), count} : LossSum{};
}

}  // namespace fwl
