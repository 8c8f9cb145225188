// Token ids as tensors, from a file or random.
#pragma once

#include <ATen/core/Tensor.h>

#include "data/token_file.h"

namespace fwl {

at::Tensor token_tensor(const TokenView& tokens, int64_t first, int64_t count);  // 1,count

// Random token ids with the frequencies of a text: rank r has a probability of about 1 / (r ln V).   B,T
at::Tensor zipf_tokens(int64_t rows, int64_t tokens, int64_t vocabulary_size);

}  // namespace fwl
