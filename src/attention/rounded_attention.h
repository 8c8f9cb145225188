// Attention of a few queries over keys and values that are kept in bf16, without widening the cache as a whole.
#pragma once

#include "attention/block_attention.h"

namespace fwl {

// queries: B,heads,T,d, floats on the CPU   keys, values: B,key heads,K,d in bf16, with contiguous rows
// -> B,T,heads * d
at::Tensor rounded_attention(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                             const AttentionShape& shape, VisibleKeys visible);

}  // namespace fwl
