// The processes that work on one run: sums, copies and meeting points. One process, or a process group of the engine.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "support/row_share.h"

namespace fwl {

// Every rank makes the same calls in the same order, with tensors of equal shape and type. A rank that is lost, cut off
// or too late ends the call with a UserError.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  bool is_first() const { return rank() == 0; }
  RowShare share_of(int64_t rows) const { return row_share(rows, rank(), size()); }

  // Starts to replace a contiguous tensor by the sum over all ranks. Keep it alive and call the result to wait.
  using Wait = std::function<void()>;
  virtual Wait start_all_reduce(const at::Tensor& tensor) = 0;
  void all_reduce(const at::Tensor& tensor) { start_all_reduce(tensor)(); }

  virtual void broadcast(const at::Tensor& tensor, int64_t root) = 0;  // the root's numbers, for all
  virtual void barrier() = 0;                                          // returns when every rank has called it
};

// The group of this process: itself alone, until it joins another.
RankGroup& this_group();

// Joins the process group that the engine knows by this name; each call waits at most so long for the other ranks.
void join_group(const std::string& name, double timeout_seconds);
void leave_group();

// Runs `work` on the first rank; the others wait for it.
void on_first_rank(RankGroup& ranks, const std::function<void()>& work);
// Runs `work` on the first rank, then on the others, who find what it has left.
void first_rank_first(RankGroup& ranks, const std::function<void()>& work);

// The rows of all ranks in order, for a rank that holds its share of `rows` rows.   n,… -> rows,…
at::Tensor gather_rows(RankGroup& ranks, const at::Tensor& own, int64_t rows);

}  // namespace fwl
