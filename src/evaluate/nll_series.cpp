#include "evaluate/nll_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/torch.h"
#include "support/error.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

struct Moments {
  double mean = 0, standard_error = 0;
};

Moments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (count - 1) / count) : 0};
}

}  // namespace

Summary summarize(const NllSeries& series, const TokenView& tokens) {
  Summary summary;
  summary.tokens = static_cast<int64_t>(series.nll.size());
  const auto all = moments({series.nll.begin(), series.nll.end()});
  summary.mean = all.mean;
  summary.standard_error = all.standard_error;
  summary.perplexity = std::exp(all.mean);
  summary.perplexity_error = summary.perplexity * all.standard_error;
  double bytes = 0, words = 0;
  std::vector<double> sums(static_cast<size_t>(tokens.document_count()), 0), counts = sums;
  for (size_t index = 0; index < series.nll.size(); ++index) {
    const auto document = static_cast<size_t>(tokens.document_at(series.targets[index]));
    sums[document] += series.nll[index];
    counts[document] += 1;
  }
  std::vector<double> means;
  for (size_t index = 0; index < sums.size(); ++index) {
    const auto document = tokens.document(static_cast<int64_t>(index));
    bytes += static_cast<double>(document.byte_count);
    words += static_cast<double>(document.word_count);
    if (counts[index] > 0) means.push_back(sums[index] / counts[index]);
  }
  summary.documents = static_cast<int64_t>(means.size());
  summary.macro_perplexity = std::exp(moments(means).mean);
  // If not all tokens are scored, bytes and words are counted in proportion to the scored tokens.
  const double share = static_cast<double>(summary.tokens) / static_cast<double>(tokens.size());
  if (bytes > 0) summary.bits_per_byte = all.mean * static_cast<double>(summary.tokens) / (bytes * share) / std::log(2);
  if (words > 0) summary.word_perplexity = std::exp(all.mean * static_cast<double>(summary.tokens) / (words * share));
  return summary;
}

std::vector<double> block_means(const NllSeries& series) {
  std::vector<double> means;
  for (size_t start = 0; start < series.nll.size(); start += error_block_tokens) {
    const size_t end = std::min<size_t>(series.nll.size(), start + error_block_tokens);
    if (end - start < error_block_tokens && start > 0) break;
    double sum = 0;
    for (size_t index = start; index < end; ++index) sum += series.nll[index];
    means.push_back(sum / static_cast<double>(end - start));
  }
  return means;
}

PairedDifference compare(const NllSeries& a, const NllSeries& b) {
  if (a.targets != b.targets) fail("comparison", "losses of the same tokens", "of others");
  const auto mean = [](const NllSeries& series) { return moments({series.nll.begin(), series.nll.end()}).mean; };
  return compare(mean(a), block_means(a), mean(b), block_means(b));
}

PairedDifference compare(double mean_a, const std::vector<double>& blocks_a, double mean_b,
                         const std::vector<double>& blocks_b) {
  if (blocks_a.size() != blocks_b.size()) fail("comparison", "losses of the same tokens", "of others");
  std::vector<double> differences(blocks_a.size());
  std::ranges::transform(blocks_b, blocks_a, differences.begin(), std::minus<>());
  PairedDifference difference;
  difference.mean = mean_b - mean_a;
  const double margin = 1.96 * moments(differences).standard_error;
  difference.low = difference.mean - margin;
  difference.high = difference.mean + margin;
  difference.perplexity_ratio = std::exp(difference.mean);
  return difference;
}

void save_nll(const std::string& path, const std::vector<NllSeries>& series, const TokenView& tokens,
              const NllFileFacts& facts) {
  TensorMap tensors;
  const auto& targets = series.front().targets;
  tensors["targets"] = at::tensor(targets, at::kLong);
  std::vector<int64_t> ids(targets.size()), documents(targets.size());
  for (size_t index = 0; index < targets.size(); ++index) {
    tokens.read(targets[index], std::span<int64_t>(&ids[index], 1));
    documents[index] = tokens.document_at(targets[index]);
  }
  tensors["ids"] = at::tensor(ids, at::kLong);
  tensors["documents"] = at::tensor(documents, at::kLong);
  for (const auto& one : series) tensors["nll." + one.method] = at::tensor(one.nll, at::kFloat);
  save_checked_tensors(
      tensors, path,
      {{"format", "fwl-nll-1"}, {"model", facts.model}, {"data", facts.data_hash}, {"result", facts.result}});
}

}  // namespace fwl
