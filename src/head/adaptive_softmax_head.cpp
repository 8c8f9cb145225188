#include "head/adaptive_softmax_head.h"

#include <fmt/format.h>

#include "engine/products.h"
#include "engine/torch.h"
#include "head/softmax_sweep.h"
#include "head/vocabulary_config.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr const char* where = "AdaptiveSoftmaxHead";

void check_cluster(const SoftmaxCluster& cluster, size_t index, int64_t width) {
  const auto name = fmt::format("{}, cluster {}", where, index);
  if (cluster.weight.dim() != 2) fail(name, "a weight words,d", c10::str(cluster.weight.sizes()));
  const int64_t words = cluster.weight.size(0), d = cluster.weight.size(1);
  if (cluster.bias.defined() && (cluster.bias.dim() != 1 || cluster.bias.size(0) != words))
    fail(name, fmt::format("a bias of {}", words), c10::str(cluster.bias.sizes()));
  if (!cluster.projection.defined() && d != width)
    fail(name, fmt::format("a projection {},{}", width, d), "none", "a narrower cluster needs one");
  const bool fits =
      !cluster.projection.defined() ||
      (cluster.projection.dim() == 2 && cluster.projection.size(0) == width && cluster.projection.size(1) == d);
  if (!fits) fail(name, fmt::format("a projection {},{}", width, d), c10::str(cluster.projection.sizes()));
}

at::Tensor project(const at::Tensor& hidden, const SoftmaxCluster& cluster) {
  return cluster.projection.defined() ? product(hidden, cluster.projection) : hidden;
}

at::Tensor project_back(const at::Tensor& gradient, const SoftmaxCluster& cluster) {
  return cluster.projection.defined() ? product(gradient, cluster.projection.t()) : gradient;
}

at::Tensor rows_of(const at::Tensor& values, const at::Tensor& rows) {
  return rows.defined() && values.defined() ? values.index_select(0, rows) : values;
}

// total + part, where part belongs to some rows only (all of them while total is undefined).
at::Tensor add_rows(const at::Tensor& total, const at::Tensor& rows, const at::Tensor& part) {
  return rows.defined() ? total.index_add(0, rows, part) : part;
}

int64_t width_of(const SoftmaxCluster& cluster) {
  return cluster.projection.defined() ? cluster.projection.size(0) : cluster.weight.size(1);
}

}  // namespace

AdaptiveSoftmaxHead::AdaptiveSoftmaxHead(std::vector<SoftmaxCluster> clusters, at::Tensor cluster_weight,
                                         at::Tensor cluster_bias, HeadOptions options)
    : clusters_(std::move(clusters)),
      cluster_weight_(std::move(cluster_weight)),
      cluster_bias_(std::move(cluster_bias)),
      options_(options) {
  if (clusters_.empty()) fail(where, "at least one cluster", "none");
  first_word_ = {0};
  for (size_t index = 0; index < clusters_.size(); ++index) {
    check_cluster(clusters_[index], index, width_of(clusters_[0]));
    first_word_.push_back(first_word_.back() + clusters_[index].weight.size(0));
  }
  const int64_t tails = tail_count(), d = clusters_[0].weight.size(1);
  if (tails == 0) return;
  if (!cluster_weight_.defined() || cluster_weight_.dim() != 2 || cluster_weight_.size(0) != tails ||
      cluster_weight_.size(1) != d)
    fail(where, fmt::format("a cluster weight {},{}", tails, d),
         cluster_weight_.defined() ? c10::str(cluster_weight_.sizes()) : "none");
  if (clusters_[0].bias.defined() != cluster_bias_.defined())
    fail(where, "a bias for both the head words and the cluster entries, or for neither", "one of them");
  if (cluster_bias_.defined() && (cluster_bias_.dim() != 1 || cluster_bias_.size(0) != tails))
    fail(where, fmt::format("a cluster bias of {}", tails), c10::str(cluster_bias_.sizes()));
}

int64_t AdaptiveSoftmaxHead::width() const {
  return width_of(clusters_[0]);
}

std::vector<at::Tensor> AdaptiveSoftmaxHead::parameters() const {
  std::vector<at::Tensor> all = {cluster_weight_, cluster_bias_};
  for (const auto& cluster : clusters_) all.insert(all.end(), {cluster.weight, cluster.bias, cluster.projection});
  std::erase_if(all, [](const at::Tensor& tensor) { return !tensor.defined(); });
  return all;
}

// Every token meets the head cluster; a tail cluster is met by its own tokens only.
double AdaptiveSoftmaxHead::products_per_token() const {
  const auto numbers = [](const at::Tensor& tensor) {
    return tensor.defined() ? static_cast<double>(tensor.numel()) : 0.0;
  };
  double products = numbers(cluster_weight_);
  for (size_t k = 0; k < clusters_.size(); ++k) {
    const double share = k == 0 ? 1 : zipf_share(first_word_[k], first_word_[k + 1], vocabulary_size());
    products += share * (numbers(clusters_[k].weight) + numbers(clusters_[k].projection));
  }
  return products;
}

SoftmaxCluster AdaptiveSoftmaxHead::joined_head() const {
  if (tail_count() == 0) return clusters_[0];
  if (at::GradMode::is_enabled()) return join_head();
  const std::lock_guard lock(joined_lock_);
  const std::vector<int64_t> versions = head_versions();
  if (versions != joined_versions_) {
    joined_ = join_head();
    joined_versions_ = versions;
  }
  return joined_;
}

SoftmaxCluster AdaptiveSoftmaxHead::join_head() const {
  auto head = clusters_[0];
  head.weight = at::cat({head.weight, cluster_weight_});
  if (head.bias.defined()) head.bias = at::cat({head.bias, cluster_bias_});
  return head;
}

std::vector<int64_t> AdaptiveSoftmaxHead::head_versions() const {
  std::vector<int64_t> versions;
  for (const auto& tensor : {clusters_[0].weight, clusters_[0].bias, cluster_weight_, cluster_bias_})
    versions.push_back(tensor.defined() ? static_cast<int64_t>(tensor._version()) : -1);
  return versions;
}

at::Tensor AdaptiveSoftmaxHead::head_targets(const at::Tensor& targets) const {
  auto result = targets.clone();
  for (size_t k = 1; k < clusters_.size(); ++k)
    result.masked_fill_(targets >= first_word_[k], first_word_[1] + static_cast<int64_t>(k) - 1);
  return result;
}

void AdaptiveSoftmaxHead::for_each_cluster(const at::Tensor& targets, const ClusterVisit& visit) const {
  visit(0, joined_head(), at::Tensor(), head_targets(targets));
  for (size_t k = 1; k < clusters_.size(); ++k) {
    const auto rows = at::nonzero((targets >= first_word_[k]).logical_and_(targets < first_word_[k + 1])).squeeze(1);
    if (rows.size(0) == 0) continue;
    visit(static_cast<int64_t>(k), clusters_[k], rows, targets.index_select(0, rows) - first_word_[k]);
  }
}

std::vector<int64_t> AdaptiveSoftmaxHead::bias_sizes() const {
  std::vector<int64_t> sizes;
  for (const auto& cluster : clusters_) sizes.push_back(cluster.weight.size(0));
  sizes[0] += tail_count();
  return sizes;
}

std::shared_ptr<const Head> AdaptiveSoftmaxHead::with_bias_change(const std::vector<at::Tensor>& change) const {
  const int64_t head_tokens = clusters_[0].weight.size(0);
  auto clusters = clusters_;
  clusters[0].bias = changed_bias(clusters[0].bias, change[0].narrow(0, 0, head_tokens));
  for (size_t index = 1; index < clusters.size(); ++index)
    clusters[index].bias = changed_bias(clusters[index].bias, change[index]);
  const auto tail_bias =
      tail_count() > 0 ? changed_bias(cluster_bias_, change[0].narrow(0, head_tokens, tail_count())) : cluster_bias_;
  return std::make_shared<AdaptiveSoftmaxHead>(std::move(clusters), cluster_weight_, tail_bias, options_);
}

at::Tensor AdaptiveSoftmaxHead::loss(const at::Tensor& hidden, const at::Tensor& targets,
                                     const at::Tensor& expected_upstream) const {
  check_head_input(where, *this, hidden, targets);
  at::Tensor total;
  for_each_cluster(
      targets, [&](int64_t, const SoftmaxCluster& cluster, const at::Tensor& rows, const at::Tensor& local) {
        const auto narrow = project(rows_of(hidden, rows), cluster);
        const auto upstream = rows_of(expected_upstream, rows);
        total = add_rows(total, rows, softmax_loss(narrow, cluster.weight, cluster.bias, local, upstream, options_));
      });
  return total;
}

LossAndGradient AdaptiveSoftmaxHead::loss_and_gradient(const at::Tensor& hidden, const at::Tensor& targets) const {
  check_head_input(where, *this, hidden, targets);
  LossAndGradient total;
  for_each_cluster(targets,
                   [&](int64_t, const SoftmaxCluster& cluster, const at::Tensor& rows, const at::Tensor& local) {
                     const auto narrow = project(rows_of(hidden, rows), cluster);
                     const auto part = softmax_loss_and_gradient(narrow, cluster.weight, cluster.bias, local, options_);
                     total.loss = add_rows(total.loss, rows, part.loss);
                     total.gradient = add_rows(total.gradient, rows, project_back(part.gradient, cluster));
                   });
  return total;
}

at::Tensor AdaptiveSoftmaxHead::logits(const at::Tensor& hidden) const {
  const auto scores = [&](const SoftmaxCluster& cluster) {
    const auto products = product(project(hidden, cluster), cluster.weight.t());
    return at::log_softmax(cluster.bias.defined() ? products + cluster.bias : products, 1);
  };
  const auto head = scores(joined_head());
  const int64_t head_words = first_word_[1];
  std::vector<at::Tensor> parts = {head.narrow(1, 0, head_words)};
  for (size_t k = 1; k < clusters_.size(); ++k) {
    const auto entry = head.narrow(1, head_words + static_cast<int64_t>(k) - 1, 1);
    parts.push_back(entry + scores(clusters_[k]));
  }
  return at::cat(parts, 1);
}

}  // namespace fwl
