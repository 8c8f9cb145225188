#include "train/gradient_exchange.h"

#include <torch/csrc/autograd/function_hook.h>

#include <chrono>

#include "engine/torch.h"

namespace fwl {

class GradientExchange::ReadyHook : public torch::autograd::PostAccumulateGradHook {
 public:
  ReadyHook(GradientExchange& exchange, size_t bucket) : exchange_(exchange), bucket_(bucket) {}
  void operator()(const at::Tensor&) override { exchange_.note_ready(bucket_); }

 private:
  GradientExchange& exchange_;
  size_t bucket_;
};

GradientExchange::GradientExchange(const NamedTensors& parameters, RankGroup& ranks, int64_t bucket_bytes)
    : ranks_(ranks) {
  if (ranks.size() == 1) return;
  int64_t bytes = bucket_bytes;
  for (auto entry = parameters.rbegin(); entry != parameters.rend(); ++entry) {
    const auto& parameter = entry->second;
    if (bytes >= bucket_bytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    bytes += static_cast<int64_t>(parameter.nbytes());
    buckets_.back().parameters.push_back(parameter);
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<ReadyHook>(*this, buckets_.size() - 1));
  }
  for (auto& bucket : buckets_) {
    auto numbers = static_cast<int64_t>(bucket.parameters.size());
    for (const auto& parameter : bucket.parameters) numbers += parameter.numel();
    bucket.flat = at::empty({numbers}, bucket.parameters.front().options().requires_grad(false));
  }
}

GradientExchange::~GradientExchange() {
  for (auto& bucket : buckets_)
    for (const auto& parameter : bucket.parameters) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
}

void GradientExchange::open() {
  started_ = 0;
  for (auto& bucket : buckets_) bucket.unknown = bucket.parameters.size();
  is_open_ = true;
}

void GradientExchange::note_ready(size_t bucket) {
  if (!is_open_) return;
  --buckets_[bucket].unknown;
  while (started_ < buckets_.size() && buckets_[started_].unknown == 0) start(buckets_[started_++]);
}

void GradientExchange::start(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  std::vector<float> is_known;
  for (const auto& parameter : bucket.parameters) {
    const auto& gradient = parameter.grad();
    is_known.push_back(gradient.defined() ? 1 : 0);
    parts.push_back(gradient.defined() ? gradient.reshape(-1) : at::zeros({parameter.numel()}, bucket.flat.options()));
  }
  parts.push_back(at::tensor(is_known).to(bucket.flat.options()));
  at::cat_out(bucket.flat, parts);
  bucket.wait = ranks_.start_all_reduce(bucket.flat);
}

void GradientExchange::take_sums(Bucket& bucket) {
  const auto count = static_cast<int64_t>(bucket.parameters.size());
  const auto known = bucket.flat.slice(0, bucket.flat.numel() - count).to(at::kCPU, at::kFloat);
  int64_t first = 0;
  for (int64_t index = 0; index < count; ++index) {
    auto& parameter = bucket.parameters[static_cast<size_t>(index)];
    if (known.const_data_ptr<float>()[index] > 0)
      parameter.mutable_grad() = bucket.flat.narrow(0, first, parameter.numel()).view(parameter.sizes());
    first += parameter.numel();
  }
}

void GradientExchange::finish() {
  is_open_ = false;
  const auto start_time = std::chrono::steady_clock::now();
  while (started_ < buckets_.size()) start(buckets_[started_++]);
  for (auto& bucket : buckets_) {
    bucket.wait();
    take_sums(bucket);
  }
  waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count();
}

}  // namespace fwl
