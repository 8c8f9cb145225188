// Sums the gradients of all ranks, bucket by bucket, while the backward pass computes the rest.
#pragma once

#include <vector>

#include "parallel/rank_group.h"
#include "weights/parameter_list.h"

namespace fwl {

// A backward pass computes the gradients of the last parameters first, so buckets hold parameters in reverse order, and
// all ranks start them in that order. A bucket is one flat tensor: the gradients, and for each parameter how many ranks
// have one.
class GradientExchange {
 public:
  static constexpr int64_t usual_bucket_bytes = int64_t{4} << 20;

  // The parameters require gradients, are contiguous, and of one type.
  GradientExchange(const NamedTensors& parameters, RankGroup& ranks, int64_t bucket_bytes = usual_bucket_bytes);
  ~GradientExchange();
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  void open();    // the next backward pass is the last one of this step: gradients may leave as soon as they are known
  void finish();  // then each gradient is the sum over all ranks
  double waited_seconds() const { return waited_seconds_; }  // in all calls of finish

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    at::Tensor flat;
    size_t unknown = 0;  // gradients that this pass has not computed yet
    RankGroup::Wait wait;
  };
  class ReadyHook;

  void note_ready(size_t bucket);
  void start(Bucket& bucket);
  static void take_sums(Bucket& bucket);

  RankGroup& ranks_;
  std::vector<Bucket> buckets_;
  size_t started_ = 0;  // buckets of this step
  bool is_open_ = false;
  double waited_seconds_ = 0;
};

}  // namespace fwl
