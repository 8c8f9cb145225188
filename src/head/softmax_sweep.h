// The full softmax over a weight matrix as differentiable passes in blocks, used by both heads.
#pragma once

#include <ATen/core/Tensor.h>

#include "head/head.h"

namespace fwl {

// hidden: N,D   weight: V,D   bias: V or undefined   targets: N   expected_upstream: N or undefined -> N
at::Tensor softmax_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& targets, const at::Tensor& expected_upstream, const HeadOptions& options);

LossAndGradient softmax_loss_and_gradient(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                                          const at::Tensor& targets, const HeadOptions& options);

// How many tokens a block holds.
int64_t tokens_per_block(int64_t vocabulary_size, const at::Tensor& like, const HeadOptions& options);

}  // namespace fwl
