#include "generate/session_tools.h"

#include "engine/torch.h"
#include "memory/weight_set.h"
#include "model/session.h"

namespace fwl {
namespace {

constexpr const char* fast_prefix = "state.";
constexpr const char* bias_prefix = "bias.";

bool is_fast(const std::string& name) {
  return name.starts_with(fast_prefix) || name.starts_with(bias_prefix);
}

std::string metadata_text(const TensorReader& reader, const char* key) {
  const auto found = reader.metadata().find(key);
  return found == reader.metadata().end() ? "" : found->second;
}

}  // namespace

SessionFacts describe_session(const std::string& path) {
  auto reader = open_session_file(path);
  SessionFacts facts;
  facts.architecture = metadata_text(reader, "architecture");
  facts.model = metadata_text(reader, "model");
  for (const auto& [name, tensor] : reader.left())
    (is_fast(name) ? facts.fast_bytes : facts.memory_bytes) += static_cast<int64_t>(tensor.nbytes());
  const auto numbers = reader.take_numbers("base.numbers", 5);
  facts.texts = numbers[0];
  facts.tokens_read = numbers[1];
  facts.cached_tokens = numbers[2];
  if (reader.has("state.tokens_read")) facts.fast_tokens = reader.take_numbers("state.tokens_read", facts.texts)[0];
  const auto add = [&](const std::string& weight, const std::vector<std::string>& names) {
    at::Tensor sum;
    for (const auto& name : names) {
      if (!reader.has(name)) continue;
      const auto& part = reader.left().at(name);
      sum = sum.defined() ? sum + part : part;
    }
    if (sum.defined()) facts.sums.push_back({weight, sum.to(at::kDouble).norm().item<double>()});
  };
  for (const auto* weight : weight_names)
    add(weight, {std::string("state.closed.") + weight, std::string("state.open.") + weight});
  for (int cluster = 0; reader.has(bias_prefix + std::to_string(cluster)); ++cluster)
    add("bias " + std::to_string(cluster), {bias_prefix + std::to_string(cluster)});
  return facts;
}

void reset_session(const std::string& path) {
  const auto reader = open_session_file(path);
  auto tensors = reader.left();
  std::erase_if(tensors, [](const auto& named) { return is_fast(named.first); });
  save_checked_tensors(tensors, path, reader.metadata());
}

void decay_session(const std::string& path, double factor) {
  const auto reader = open_session_file(path);
  auto tensors = reader.left();
  for (auto& [name, tensor] : tensors)
    if (is_fast(name) && tensor.is_floating_point()) tensor = tensor * factor;
  save_checked_tensors(tensors, path, reader.metadata());
}

void copy_session(const std::string& from, const std::string& to) {
  const auto reader = open_session_file(from);
  save_checked_tensors(reader.left(), to, reader.metadata());
}

}  // namespace fwl
