#include "model/session_rows.h"

#include "engine/torch.h"

namespace fwl {
namespace {

void map_tensor(at::Tensor& tensor, const RowFunction& function) {
  if (tensor.defined()) tensor = function(tensor);
}

void map_numbers(std::vector<int64_t>& numbers, const RowFunction& function) {
  const auto mapped = function(at::tensor(numbers, at::kLong)).contiguous();
  numbers.assign(mapped.const_data_ptr<int64_t>(), mapped.const_data_ptr<int64_t>() + mapped.numel());
}

void map_state(FastState& state, const RowFunction& function) {
  if (!state.is_defined()) return;
  for (auto& [name, tensor] : state.tensors) map_tensor(tensor, function);
  map_numbers(state.open_tokens, function);
  map_numbers(state.tokens_read, function);
}

}  // namespace

Session map_rows(const Session& session, int64_t rows, const RowFunction& function) {
  auto mapped = session.clone();
  mapped.base.sequences = rows;
  mapped.base.derived.clear();
  for (auto& tensor : mapped.base.cache) map_tensor(tensor, function);
  map_tensor(mapped.base.recent, function);
  map_tensor(mapped.last_hidden, function);
  map_state(mapped.fast, function);
  map_state(mapped.blocks.fast, function);
  for (auto* tensor : {&mapped.blocks.tokens, &mapped.blocks.targets, &mapped.blocks.token_weights})
    map_tensor(*tensor, function);
  return mapped;
}

Session session_rows(const Session& session, int64_t first, int64_t count) {
  return map_rows(session, count,
                  [&](const at::Tensor& tensor) { return tensor.narrow(0, first, count).contiguous(); });
}

}  // namespace fwl
