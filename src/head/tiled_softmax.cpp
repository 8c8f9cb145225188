#include "head/tiled_softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/products.h"
#include "engine/softmax_columns.h"
#include "engine/torch.h"

namespace fwl {
namespace {

// Tokens that share a pass over the vocabulary, and what stays in the cache of the cores.
constexpr int64_t block_tokens = 512, cached_bytes = 2 << 20;

// Some tokens on their way through the vocabulary.
class Block {
 public:
  Block(const at::Tensor& hidden, const at::Tensor& targets, bool wants_gradient)
      : hidden_(hidden),
        targets_(targets),
        running_(hidden.size(0), hidden.options()),
        target_logits_(at::zeros({hidden.size(0)}, hidden.options())),
        gradient_(wants_gradient ? at::zeros(hidden.sizes(), hidden.options()) : at::Tensor()) {}

  // rows: words,D, those of the vocabulary from `first` on   buffer: words,N or more
  void add(int64_t first, const at::Tensor& rows, const at::Tensor& bias, const at::Tensor& buffer) {
    const int64_t words = rows.size(0);
    auto logits = buffer.narrow(0, 0, words * hidden_.size(0)).view({words, hidden_.size(0)});
    product_into(logits, rows, hidden_.t());
    pick_targets(first, bias, logits);
    if (!gradient_.defined()) return running_.add(logits, bias);
    const auto factors = running_.exponentiate_(logits, bias);  // N
    gradient_.mul_(factors.unsqueeze(1));
    product_into(gradient_, logits.t(), rows, 1);
  }

  TiledResult finish(const Matrix& weight) {
    const auto log_sums = running_.log_sums();
    if (gradient_.defined()) gradient_.div_(running_.totals().unsqueeze(1)).sub_(weight.select_rows(targets_));
    return {log_sums - target_logits_, log_sums, gradient_};
  }

 private:
  void pick_targets(int64_t first, const at::Tensor& bias, const at::Tensor& logits) {
    const auto local = targets_ - first;
    const auto is_inside = local.ge(0).logical_and_(local.lt(logits.size(0)));
    const auto row = local.clamp(0, logits.size(0) - 1);
    auto found = logits.gather(0, row.unsqueeze(0)).squeeze(0);
    if (bias.defined()) found = found + bias.index_select(0, row);
    target_logits_ = at::where(is_inside, found, target_logits_);
  }

  at::Tensor hidden_, targets_;
  RunningSoftmax running_;
  at::Tensor target_logits_, gradient_;
};

}  // namespace

TiledResult tiled_softmax(const at::Tensor& given, const Matrix& weight, const at::Tensor& bias,
                          const at::Tensor& targets, bool wants_gradient, int64_t tile_bytes) {
  const auto hidden = given.contiguous();
  const int64_t tokens = std::max<int64_t>(1, std::min(block_tokens, hidden.size(0)));
  const int64_t widest = std::max(tokens, weight.columns()) * hidden.element_size();
  const int64_t tile = std::clamp<int64_t>(std::min(tile_bytes, cached_bytes) / widest, 1, weight.rows());
  const Matrix operand = weight.is_quantized() ? weight : Matrix(weight_operand(weight.dense()));
  const auto buffer = at::empty({tile * tokens}, hidden.options());
  std::vector<at::Tensor> losses, log_sums, gradients;
  for (int64_t start = 0; start < hidden.size(0); start += tokens) {
    Block block(hidden.slice(0, start, start + tokens), targets.slice(0, start, start + tokens), wants_gradient);
    for (int64_t first = 0; first < weight.rows(); first += tile) {
      const int64_t words = std::min(tile, weight.rows() - first);
      block.add(first, operand.narrow(first, words).dequantized(), bias.defined() ? bias.narrow(0, first, words) : bias,
                buffer);
    }
    auto part = block.finish(weight);
    losses.push_back(part.losses);
    log_sums.push_back(part.log_sums);
    gradients.push_back(part.gradient);
  }
  if (losses.empty())
    return {at::empty({0}, hidden.options()), at::empty({0}, hidden.options()), at::zeros_like(hidden)};
  return {at::cat(losses), at::cat(log_sums), wants_gradient ? at::cat(gradients) : at::Tensor()};
}

}  // namespace fwl
