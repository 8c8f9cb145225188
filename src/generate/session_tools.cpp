#include "generate/session_tools.h"

#include "engine/torch.h"
#include "files/output_check.h"
#include "memory/fast_state.h"

namespace fwl {
namespace {

bool is_fast(const std::string& name) {
  return name.starts_with(fast_state_prefix);
}

bool is_learned(const std::string& name, const at::Tensor& tensor) {
  return is_fast(name) && tensor.is_floating_point() && name.find(statistics_prefix) == std::string::npos;
}

}  // namespace

SessionFacts describe_session(const std::string& path) {
  const auto reader = open_session_file(path);
  SessionFacts facts;
  facts.header = session_header(reader);
  for (const auto& [name, tensor] : reader.left()) {
    (is_fast(name) ? facts.fast_bytes : facts.base_bytes) += static_cast<int64_t>(tensor.nbytes());
    if (is_learned(name, tensor))
      facts.state.push_back(
          {name.substr(std::string_view(fast_state_prefix).size()), tensor.to(at::kDouble).norm().item<double>()});
  }
  return facts;
}

// What is left is a session that has read nothing, but whose fast weights have.
void drop_context(const std::string& path) {
  const auto reader = open_session_file(path);
  const auto header = session_header(reader);
  auto tensors = reader.left();
  std::erase_if(tensors, [](const auto& named) {
    const auto& name = named.first;
    return name.starts_with(block_chunk_prefix) || (!is_fast(name) && name != "base.context");
  });
  tensors["base.numbers"] = numbers_tensor({header.sequences, 0, 0, 0, 0});
  save_checked_tensors(tensors, path, reader.metadata());
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
    if (is_learned(name, tensor)) tensor = tensor * factor;
  save_checked_tensors(tensors, path, reader.metadata());
}

void copy_session(const std::string& from, const std::string& to) {
  expect_apart(to, {from});
  const auto reader = open_session_file(from);
  save_checked_tensors(reader.left(), to, reader.metadata());
}

}  // namespace fwl
