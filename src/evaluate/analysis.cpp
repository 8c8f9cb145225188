#include "evaluate/analysis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include "engine/torch.h"
#include "support/error.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

constexpr int64_t last_place = int64_t{1} << 48;  // larger than the position of any token

struct NllFile {
  std::vector<int64_t> targets, ids, documents;
  std::vector<float> nll;
  std::string name, data;
};

std::vector<int64_t> numbers(const TensorMap& tensors, const std::string& path, const char* name, size_t count) {
  const auto found = tensors.find(name);
  const bool fits = found != tensors.end() && found->second.scalar_type() == at::kLong && found->second.dim() == 1 &&
                    (count == 0 || static_cast<size_t>(found->second.size(0)) == count);
  if (!fits) fail(path, fmt::format("whole numbers '{}'", name), "none that fit", "not a file of fwl perplexity?");
  const auto* first = found->second.const_data_ptr<int64_t>();
  return {first, first + found->second.numel()};
}

NllFile load_nll(const std::string& named) {
  const auto path = loss_file_of(named);
  auto method = path == named ? std::string() : named.substr(path.size() + 1);
  const SafetensorsFile file(path);
  const auto format = file.metadata().find("format"), data = file.metadata().find("data");
  if (format == file.metadata().end() || format->second != "fwl-nll-1" || data == file.metadata().end())
    fail(path, "losses of fwl perplexity --save-nll", "something else");
  file.expect_checksum("losses");
  const auto tensors = load_tensors(file);
  std::vector<std::string> methods;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with("nll.")) methods.push_back(name.substr(4));
  if (method.empty() && methods.size() == 1) method = methods.front();
  const auto found = tensors.find("nll." + method);
  if (found == tensors.end() || found->second.scalar_type() != at::kFloat || found->second.dim() != 1)
    fail(named, fmt::format("FILE:METHOD, one of {}", fmt::join(methods, ", ")), method.empty() ? "no method" : method);
  const auto count = static_cast<size_t>(found->second.numel());
  const auto* losses = found->second.const_data_ptr<float>();
  auto targets = numbers(tensors, path, "targets", count);
  if (!std::ranges::is_sorted(targets) || (count > 0 && (targets.front() < 0 || targets.back() > last_place)))
    fail(path, "rising places of tokens", "others", "the file is damaged");
  return {std::move(targets),
          numbers(tensors, path, "ids", count),
          numbers(tensors, path, "documents", count),
          {losses, losses + count},
          method,
          data->second};
}

// Groups tokens by an integer, which also orders the groups.
std::vector<GainGroup> group_by(const NllPair& pair, const std::function<int64_t(size_t)>& group_of,
                                const std::function<std::string(int64_t)>& name_of) {
  struct Sums {
    std::vector<double> blocks;
    double before = 0, after = 0, block = 0;
    int64_t tokens = 0, in_block = 0;
  };
  std::map<int64_t, Sums> groups;
  for (size_t index = 0; index < pair.ids.size(); ++index) {
    auto& sums = groups[group_of(index)];
    sums.before += pair.before[index];
    sums.after += pair.after[index];
    sums.block += static_cast<double>(pair.before[index]) - pair.after[index];
    ++sums.tokens;
    if (++sums.in_block == error_block_tokens) {
      sums.blocks.push_back(sums.block / error_block_tokens);
      sums.block = 0;
      sums.in_block = 0;
    }
  }
  std::vector<GainGroup> result;
  for (const auto& [number, sums] : groups) {
    const auto tokens = static_cast<double>(sums.tokens);
    GainGroup group{name_of(number), sums.tokens, sums.before / tokens, sums.after / tokens, 0, 0};
    group.gain = group.before - group.after;
    double squares = 0;
    for (const double block : sums.blocks) squares += (block - group.gain) * (block - group.gain);
    const auto blocks = static_cast<double>(sums.blocks.size());
    if (blocks > 1) group.standard_error = std::sqrt(squares / (blocks - 1) / blocks);
    result.push_back(group);
  }
  return result;
}

int64_t doublings(int64_t number) {
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(number)));
}

// "1", "2-3", "4-7", …
std::string doubling_name(int64_t group) {
  if (group == 0) return "0";
  const int64_t low = int64_t{1} << (group - 1), high = 2 * low - 1;
  return low == high ? std::to_string(low) : fmt::format("{}-{}", low, high);
}

// The first token of a document or window is not predicted, so it is not a target.
std::vector<int64_t> stretches_of(const std::vector<int64_t>& targets, const std::vector<int64_t>& documents) {
  std::vector<int64_t> stretches(targets.size(), 0);
  for (size_t index = 1; index < targets.size(); ++index) {
    const bool goes_on = targets[index] == targets[index - 1] + 1 && documents[index] == documents[index - 1];
    stretches[index] = stretches[index - 1] + (goes_on ? 0 : 1);
  }
  return stretches;
}

}  // namespace

std::string loss_file_of(const std::string& named) {
  return named.substr(0, named.rfind(':'));
}

NllPair load_pair(const std::string& before_path, const std::string& after_path) {
  auto before = load_nll(before_path), after = load_nll(after_path);
  if (before.data != after.data || before.targets != after.targets)
    fail(after_path, fmt::format("losses of the same tokens as {}", before_path), "of others",
         "another text or another protocol");
  auto stretches = stretches_of(before.targets, before.documents);
  return {std::move(before.targets), std::move(before.ids), std::move(stretches), std::move(before.nll),
          std::move(after.nll),      before.name,           after.name,           before.data};
}

std::vector<GainGroup> gain_by_position(const NllPair& pair) {
  std::unordered_map<int64_t, int64_t> first_of;  // stretch: its first target
  for (size_t index = 0; index < pair.ids.size(); ++index)
    first_of.try_emplace(pair.stretches[index], pair.targets[index]);
  const auto group_of = [&](size_t index) {
    const int64_t position = pair.targets[index] - first_of[pair.stretches[index]];
    return std::max<int64_t>(6, doublings(position));  // the first 64 positions together
  };
  const auto name_of = [](int64_t group) { return group == 6 ? std::string("0-63") : doubling_name(group); };
  return group_by(pair, group_of, name_of);
}

std::vector<GainGroup> gain_by_repetition(const NllPair& pair) {
  std::unordered_map<int64_t, int64_t> seen;
  std::vector<int64_t> times(pair.ids.size());
  int64_t stretch = -1;
  for (size_t index = 0; index < pair.ids.size(); ++index) {
    if (pair.stretches[index] != stretch) seen.clear();
    stretch = pair.stretches[index];
    times[index] = seen[pair.ids[index]]++;
  }
  return group_by(
      pair, [&](size_t index) { return times[index] < 4 ? times[index] : doublings(times[index]) + 1; },
      [](int64_t group) { return group < 4 ? std::to_string(group) : doubling_name(group - 1); });
}

std::vector<GainGroup> gain_by_frequency(const NllPair& pair, const std::vector<int64_t>& counts) {
  const auto group_of = [&](size_t index) {
    const auto id = static_cast<size_t>(pair.ids[index]);
    const int64_t count = id < counts.size() ? counts[id] : 0;
    return count == 0 ? int64_t{0} : 1 + static_cast<int64_t>(std::log10(static_cast<double>(count)));
  };
  const auto name_of = [](int64_t group) {
    return group == 0 ? std::string("never") : fmt::format("1e{}-1e{}", group - 1, group);
  };
  return group_by(pair, group_of, name_of);
}

std::vector<int64_t> count_ids(const std::string& token_path) {
  const TokenFile file(token_path);
  std::vector<int64_t> counts(static_cast<size_t>(file.vocabulary_size()), 0), ids;
  constexpr int64_t block = 1 << 20;
  for (int64_t first = 0; first < file.size(); first += block) {
    ids.resize(static_cast<size_t>(std::min(block, file.size() - first)));
    file.read(first, ids);
    for (const auto id : ids) ++counts[static_cast<size_t>(id)];
  }
  return counts;
}

Extremes extremes(const NllPair& pair, size_t count) {
  std::vector<size_t> order(pair.ids.size());
  std::iota(order.begin(), order.end(), 0);
  const auto gain = [&](size_t index) { return pair.before[index] - pair.after[index]; };
  count = std::min(count, order.size());
  Extremes result;
  const auto middle = order.begin() + static_cast<int64_t>(count);
  std::partial_sort(order.begin(), middle, order.end(), [&](size_t a, size_t b) { return gain(a) > gain(b); });
  result.gains.assign(order.begin(), middle);
  std::partial_sort(order.begin(), middle, order.end(), [&](size_t a, size_t b) { return gain(a) < gain(b); });
  result.losses.assign(order.begin(), middle);
  return result;
}

}  // namespace fwl
