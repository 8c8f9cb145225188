// Token ids of a file as a tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include "text/token_file.h"

namespace fwl {

at::Tensor token_tensor(const TokenView& tokens, int64_t first, int64_t count);  // 1,count

}  // namespace fwl
