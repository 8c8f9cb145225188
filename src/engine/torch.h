// The part of LibTorch that the library needs: tensors, their operations, and gradients. The whole takes twice as long
// to compile.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
