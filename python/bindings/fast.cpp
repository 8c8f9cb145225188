// Python's view of the fast weight core: heads, states and the layer as functions; python/fwl/layer.py makes modules of
// it.
#include <torch/extension.h>

#include "bindings.h"
#include "engine/products.h"
#include "head/adaptive_softmax_head.h"
#include "head/softmax_head.h"
#include "memory/bias_only.h"
#include "memory/layer.h"
#include "memory/layer_sums.h"
#include "support/error.h"
#include "weights/quantized_product.h"

namespace py = pybind11;

namespace fwl {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using ReleaseGil = py::call_guard<py::gil_scoped_release>;

at::Tensor or_undefined(const OptionalTensor& tensor) {
  return tensor.value_or(at::Tensor());
}

WeightSet to_weight_set(const std::vector<at::Tensor>& tensors) {
  if (tensors.size() != weight_names.size()) fail("FastWeightLayer", "six weights", std::to_string(tensors.size()));
  return {tensors[0], tensors[1], tensors[2], tensors[3], tensors[4], tensors[5]};
}

py::dict to_dict(const WeightSet& set) {
  py::dict result;
  for (size_t index = 0; index < weight_names.size(); ++index)
    if (set.all()[index]->defined()) result[weight_names[index]] = *set.all()[index];
  return result;
}

py::dict drift_dict(const FastState& state, const FastWeightLayer& layer) {
  py::dict result;
  for (const auto& figure : layer.drift(state))
    result[figure.weight.c_str()] =
        py::dict(py::arg("update_norm") = figure.update_norm, py::arg("weight_norm") = figure.weight_norm,
                 py::arg("drift") = figure.drift);
  return result;
}

LayerOptions layer_options(bool residual, bool layer_norm, double eps, double grad_scale,
                           const std::string& gradient_at, int64_t segment_tokens, double max_drift, bool first_order,
                           int64_t kept_state_bytes, const std::string& rule, double momentum, int64_t chunk_tokens) {
  if (chunk_tokens <= 0) fail("FastWeightLayer", "chunk_tokens > 0", std::to_string(chunk_tokens));
  LayerOptions options;
  options.is_residual = residual;
  options.has_layer_norm = layer_norm;
  options.epsilon = eps;
  options.grad_scale = grad_scale;
  options.gradient_at = gradient_at_from_name(gradient_at);
  options.segment_tokens = segment_tokens;
  options.max_drift = max_drift;
  options.is_first_order = first_order;
  options.kept_state_bytes = kept_state_bytes;
  options.rule = {rule, momentum};
  options.chunk_tokens = chunk_tokens;
  return options;
}

void bind_heads(py::module_& module) {
  py::class_<Head, std::shared_ptr<Head>>(module, "Head")
      .def(
          "loss",
          [](const Head& head, const at::Tensor& hidden, const at::Tensor& targets) {
            return head.loss(hidden, targets);
          },
          ReleaseGil())
      .def(
          "loss_and_gradient",
          [](const Head& head, const at::Tensor& hidden, const at::Tensor& targets) {
            const auto result = head.loss_and_gradient(hidden, targets);
            return std::pair(result.loss, result.gradient);
          },
          ReleaseGil())
      .def("logits", &Head::logits, ReleaseGil());
  py::class_<SoftmaxHead, Head, std::shared_ptr<SoftmaxHead>>(module, "SoftmaxHead")
      .def(py::init([](at::Tensor weight, const OptionalTensor& bias, int64_t block_bytes, double skip) {
        return std::make_shared<SoftmaxHead>(std::move(weight), or_undefined(bias), HeadOptions{block_bytes, skip});
      }));
  py::class_<AdaptiveSoftmaxHead, Head, std::shared_ptr<AdaptiveSoftmaxHead>>(module, "AdaptiveSoftmaxHead")
      .def(py::init([](const std::vector<at::Tensor>& weights, const std::vector<OptionalTensor>& biases,
                       const std::vector<OptionalTensor>& projections, const OptionalTensor& cluster_weight,
                       const OptionalTensor& cluster_bias, int64_t block_bytes, double skip) {
        std::vector<SoftmaxCluster> clusters;
        for (size_t index = 0; index < weights.size(); ++index)
          clusters.push_back({weights[index], or_undefined(biases.at(index)), or_undefined(projections.at(index))});
        return std::make_shared<AdaptiveSoftmaxHead>(std::move(clusters), or_undefined(cluster_weight),
                                                     or_undefined(cluster_bias), HeadOptions{block_bytes, skip});
      }));
}

void bind_state(py::module_& module) {
  py::class_<FastState>(module, "FastState", "Sums of gradients per weight and sequence.")
      .def(py::init([](std::map<std::string, at::Tensor> tensors, std::vector<int64_t> open_tokens,
                       std::vector<int64_t> tokens_read, int64_t segment_tokens) {
             return FastState{std::move(tensors), std::move(open_tokens), std::move(tokens_read), segment_tokens};
           }),
           py::arg("tensors"), py::arg("open_tokens"), py::arg("tokens_read"), py::arg("segment_tokens"))
      .def("clone", &FastState::clone)
      .def("detach", &FastState::detach)
      .def("sequence", &FastState::sequence, py::arg("index"))
      .def_static("join", &FastState::join, py::arg("states"))
      .def(
          "save", [](const FastState& state, const std::string& path) { save_state(state, path); }, py::arg("path"))
      .def(
          "total", [](const FastState& state) { return to_dict(LayerSums::of(state).total()); },
          "closed + open, by weight")
      .def_property_readonly("closed", [](const FastState& state) { return to_dict(LayerSums::of(state).closed); })
      .def_property_readonly("open", [](const FastState& state) { return to_dict(LayerSums::of(state).open); })
      .def_readonly("open_tokens", &FastState::open_tokens)
      .def_readonly("tokens_read", &FastState::tokens_read)
      .def_readonly("segment_tokens", &FastState::segment_tokens)
      .def_property_readonly("sequences", &FastState::sequences)
      .def_property_readonly("tensors", [](const FastState& state) { return state.tensors; })
      .def_property_readonly("bytes", &FastState::bytes);
}

void bind_layer(py::module_& module) {
  py::class_<FastWeightLayer, std::shared_ptr<FastWeightLayer>>(module, "FastWeightLayer")
      .def(py::init([](const std::vector<at::Tensor>& weights, at::Tensor log_steps, const OptionalTensor& decay_logits,
                       const LayerOptions& options) {
        return std::make_shared<FastWeightLayer>(
            LayerParameters{to_weight_set(weights), std::move(log_steps), or_undefined(decay_logits)}, options);
      }))
      .def(
          "forward",
          [](const FastWeightLayer& layer, const at::Tensor& hidden, const at::Tensor& targets,
             const std::shared_ptr<Head>& head, const OptionalTensor& token_weights, int64_t chunk,
             const std::string& form, const std::optional<FastState>& state, bool wants_slow_loss) {
            if (chunk <= 0) fail("FastWeightLayer", "chunk > 0", std::to_string(chunk));
            const MemoryCall call{or_undefined(token_weights), chunk, form_from_name(form), wants_slow_loss};
            auto moving = state.value_or(FastState{});
            const auto losses = layer.read(hidden, targets, head, call, moving);
            const auto slow = losses.slow.defined() ? OptionalTensor(losses.slow) : std::nullopt;
            return std::tuple(slow, losses.fast, moving);
          },
          ReleaseGil())
      .def(
          "outputs",
          [](const FastWeightLayer& layer, const at::Tensor& hidden, const at::Tensor& targets,
             const std::shared_ptr<Head>& head, const OptionalTensor& token_weights, int64_t chunk,
             const std::optional<FastState>& state) {
            auto moving = state.value_or(FastState{});
            const auto outputs = layer.outputs(hidden, targets, head, {or_undefined(token_weights), chunk}, moving);
            return std::pair(outputs, moving);
          },
          ReleaseGil())
      .def(
          "adapt",
          [](const FastWeightLayer& layer, const at::Tensor& hidden, const std::optional<FastState>& state) {
            return layer.adapt(hidden, state.value_or(FastState{}));
          },
          ReleaseGil())
      .def("zero_state",
           [](const FastWeightLayer& layer, int64_t sequences) { return layer.state_layout().zeros(sequences); })
      .def("load_state",
           [](const FastWeightLayer& layer, const std::string& path) { return load_state(path, layer.state_layout()); })
      .def("log_steps_from_data",
           [](const FastWeightLayer& layer, const at::Tensor& hidden) {
             return log_steps_from_data(hidden, layer.weights(), 1);
           })
      .def("drift", [](const FastWeightLayer& layer, const FastState& state) { return drift_dict(state, layer); });
  py::class_<LayerOptions>(module, "LayerOptions").def(py::init(&layer_options));
  module.def("initial_parameters", [](int64_t width, int64_t layer_width, int64_t output_width, bool residual) {
    const auto parameters = initial_parameters(width, layer_width, output_width, residual, at::kFloat);
    const auto& slow = parameters.slow;
    return std::pair(std::vector<at::Tensor>{slow.U, slow.a, slow.W, slow.b, slow.gain, slow.shift},
                     parameters.log_steps);
  });
}

// PrecisionScope as a context manager.
class MatmulPrecision {
 public:
  explicit MatmulPrecision(const std::string& name) : precision_(precision_from_name("matmul_precision", name)) {}
  void enter() { scope_.emplace(precision_); }
  void exit() { scope_.reset(); }

 private:
  ProductPrecision precision_;
  std::optional<PrecisionScope> scope_;
};

void bind_precision(py::module_& module) {
  py::class_<MatmulPrecision>(
      module, "matmul_precision",
      "with matmul_precision(\"bf16\"): products of this thread round their operands to bf16 and "
      "sum in fp32, where that is faster; bf16-everywhere: also where it is slower. fp32: exact.")
      .def(py::init<const std::string&>(), py::arg("precision"))
      .def("__enter__", &MatmulPrecision::enter)
      .def("__exit__", [](MatmulPrecision& scope, const py::args&) { scope.exit(); });
  module.def(
      "set_activations",
      [](const std::string& name) { set_activations(activations_from_name("set_activations", name)); },
      py::arg("activations"),
      "What quantised weights are multiplied with, in this process: fp32, or q8: rounded to 8 bits in groups of 32.");
  module.def("has_fast_bf16_gemm", &has_fast_bf16_gemm);
  module.def("has_bf16_gemm", &has_bf16_gemm);
}

void bind_bias_only(py::module_& module) {
  module.def(
      "bias_only",
      [](const at::Tensor& hidden, const at::Tensor& targets, const std::shared_ptr<Head>& head,
         const at::Tensor& log_step, const OptionalTensor& token_weights, const std::vector<at::Tensor>& state) {
        const auto output = bias_only(hidden, targets, *head, log_step, or_undefined(token_weights), state);
        return std::tuple(output.slow_loss, output.fast_loss, output.state);
      },
      ReleaseGil());
}

}  // namespace

void bind_fast(py::module_& module) {
  bind_heads(module);
  bind_state(module);
  bind_layer(module);
  bind_bias_only(module);
  bind_precision(module);
}

}  // namespace fwl
