#include "engine/checkpointed.h"

#include "engine/torch.h"

namespace fwl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Autograd functions take and return only defined tensors; this remembers which inputs and outputs are undefined.
struct FunctionHolder : torch::CustomClassHolder {
  TensorFunction function;
  std::vector<bool> has_input, has_output;
  size_t input_count = 0;  // defined ones

  variable_list run(const variable_list& defined_inputs) {
    variable_list inputs;
    size_t next = 0;
    for (const bool is_defined : has_input) inputs.push_back(is_defined ? defined_inputs[next++] : at::Tensor());
    const auto outputs = function(inputs);
    has_output.clear();
    for (const auto& output : outputs) has_output.push_back(output.defined());
    return defined_ones(outputs);
  }

  static variable_list defined_ones(const variable_list& tensors) {
    auto kept = tensors;
    std::erase_if(kept, [](const at::Tensor& tensor) { return !tensor.defined(); });
    return kept;
  }
};

class Checkpointed : public torch::autograd::Function<Checkpointed> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               const c10::intrusive_ptr<FunctionHolder>& holder) {
    context->save_for_backward(tensors.vec());
    context->saved_data["function"] = c10::IValue::make_capsule(holder);
    context->set_materialize_grads(false);
    return holder->run(tensors.slice(0, holder->input_count).vec());
  }

  static variable_list backward(AutogradContext* context, variable_list upstreams) {
    const auto holder = c10::static_intrusive_pointer_cast<FunctionHolder>(context->saved_data["function"].toCapsule());
    auto tensors = context->get_saved_variables();
    variable_list inputs, outputs, wanted;
    std::vector<size_t> wanted_index;
    {
      const at::AutoGradMode with_graph(true);
      for (size_t index = 0; index < tensors.size(); ++index) {
        auto& tensor = tensors[index];
        const bool is_input = index < holder->input_count, needs_gradient = tensor.requires_grad();
        if (is_input) inputs.push_back(tensor = tensor.detach().requires_grad_(needs_gradient));
        if (!needs_gradient) continue;
        wanted.push_back(tensor);
        wanted_index.push_back(index);
      }
      outputs = holder->run(inputs);
    }
    variable_list roots, root_upstreams;
    for (size_t index = 0; index < outputs.size(); ++index) {
      if (!upstreams[index].defined() || !outputs[index].requires_grad()) continue;
      roots.push_back(outputs[index]);
      root_upstreams.push_back(upstreams[index]);
    }
    variable_list gradients(tensors.size() + 1);
    if (roots.empty()) return gradients;
    const auto found = torch::autograd::grad(roots, wanted, root_upstreams, false, false, true);
    for (size_t index = 0; index < wanted.size(); ++index) gradients[wanted_index[index]] = found[index];
    return gradients;
  }
};

}  // namespace

std::vector<at::Tensor> checkpointed(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                                     const std::vector<at::Tensor>& captured) {
  auto holder = c10::make_intrusive<FunctionHolder>();
  holder->function = function;
  for (const auto& input : inputs) holder->has_input.push_back(input.defined());
  auto tensors = FunctionHolder::defined_ones(inputs);
  holder->input_count = tensors.size();
  tensors.insert(tensors.end(), captured.begin(), captured.end());
  const auto results = Checkpointed::apply(at::TensorList(tensors), holder);
  std::vector<at::Tensor> outputs;
  size_t next = 0;
  for (const bool is_defined : holder->has_output) outputs.push_back(is_defined ? results[next++] : at::Tensor());
  return outputs;
}

}  // namespace fwl
