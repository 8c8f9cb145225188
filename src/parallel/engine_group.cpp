#include "parallel/engine_group.h"

#include <fmt/format.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "engine/torch.h"
#include "support/error.h"

namespace fwl {
namespace {

// What has happened, without the engine's source line before it and its advice after it.
std::string cause_of(std::string_view what) {
  what = what.substr(0, std::min(what.find('\n'), what.find(". This is typically")));
  if (what.starts_with('[') && what.find("] ") != what.npos) what.remove_prefix(what.find("] ") + 2);
  return std::string(what);
}

class EngineGroup : public RankGroup {
 public:
  EngineGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, double timeout_seconds)
      : group_(std::move(group)),
        timeout_seconds_(timeout_seconds),
        timeout_(static_cast<int64_t>(timeout_seconds * 1e3)) {}

  int64_t rank() const override { return group_->getRank(); }
  int64_t size() const override { return group_->getSize(); }

  Wait start_all_reduce(const at::Tensor& tensor) override {
    c10d::AllreduceOptions options;
    options.timeout = timeout_;
    std::vector<at::Tensor> tensors = {reachable(tensor)};
    const auto work = clearly([&] { return group_->allreduce(tensors, options); });
    return [this, work, tensor, reached = tensors[0]] {
      clearly([&] { return work->wait(); });
      if (!reached.is_same(tensor)) tensor.copy_(reached);
    };
  }

  void broadcast(const at::Tensor& tensor, int64_t root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    options.timeout = timeout_;
    const auto reached = reachable(tensor);
    std::vector<at::Tensor> tensors = {reached.view(at::kByte)};  // not every backend knows every type
    clearly([&] { return group_->broadcast(tensors, options)->wait(); });
    if (!reached.is_same(tensor)) tensor.copy_(reached);
  }

  void barrier() override { all_reduce(at::zeros({1})); }

 private:
  // Backends reach the CPU's memory and CUDA's; other devices go by a copy.
  static at::Tensor reachable(const at::Tensor& tensor) {
    TORCH_CHECK(tensor.is_contiguous());
    const auto detached = tensor.requires_grad() ? tensor.detach() : tensor;
    return tensor.is_cpu() || tensor.is_cuda() ? detached : detached.to(at::kCPU);
  }

  template <class Call>
  auto clearly(const Call& call) const -> decltype(call()) {
    try {
      return call();
    } catch (const std::exception& error) {
      const std::string_view what = error.what();
      const bool is_late = what.find("imed out") != what.npos || what.find("imeout") != what.npos;
      fail(fmt::format("rank {} of {}", rank(), size()),
           is_late ? fmt::format("an answer of the other ranks within {:g} s", timeout_seconds_)
                   : std::string("a connection to the other ranks"),
           is_late ? std::string("none") : cause_of(what),
           is_late ? "a rank is stopped, cut off or much slower than the others; the last checkpoint is whole"
                   : "a rank has ended; its own message says why");
    }
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  double timeout_seconds_;
  std::chrono::milliseconds timeout_;
};

}  // namespace

std::unique_ptr<RankGroup> open_engine_group(const std::string& name, double timeout_seconds) {
  return std::make_unique<EngineGroup>(c10d::resolve_process_group(name), timeout_seconds);
}

}  // namespace fwl
