#include "parallel/rank_group.h"

#include "engine/torch.h"
#include "parallel/engine_group.h"

namespace fwl {
namespace {

class OneProcess : public RankGroup {
 public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  Wait start_all_reduce(const at::Tensor&) override {
    return [] {};
  }
  void broadcast(const at::Tensor&, int64_t) override {}
  void barrier() override {}
};

std::unique_ptr<RankGroup>& joined_group() {
  static std::unique_ptr<RankGroup> group;
  return group;
}

}  // namespace

RankGroup& this_group() {
  static OneProcess alone;
  return joined_group() ? *joined_group() : alone;
}

void join_group(const std::string& name, double timeout_seconds) {
  joined_group() = open_engine_group(name, timeout_seconds);
}

void leave_group() {
  joined_group().reset();
}

void on_first_rank(RankGroup& ranks, const std::function<void()>& work) {
  if (ranks.is_first()) work();
  ranks.barrier();
}

void first_rank_first(RankGroup& ranks, const std::function<void()>& work) {
  on_first_rank(ranks, work);
  if (!ranks.is_first()) work();
}

at::Tensor gather_rows(RankGroup& ranks, const at::Tensor& own, int64_t rows) {
  if (ranks.size() == 1) return own;
  auto shape = own.sizes().vec();
  std::vector<at::Tensor> parts;
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    shape[0] = row_share(rows, rank, ranks.size()).count;
    parts.push_back(rank == ranks.rank() ? own.contiguous() : at::empty(shape, own.options().requires_grad(false)));
    if (shape[0] > 0) ranks.broadcast(parts.back(), rank);
  }
  return at::cat(parts);
}

}  // namespace fwl
