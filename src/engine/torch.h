// The part of LibTorch that the library needs: tensors, operations and autograd. Including all of it would double
// compile times.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
