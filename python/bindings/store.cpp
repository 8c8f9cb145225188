// Models and adapters on disk, as descriptions and tensors, for models that PyTorch code makes of them.
#include <torch/extension.h>

#include <nlohmann/json.hpp>

#include "bindings.h"
#include "store/adapter_folder.h"
#include "store/trained_model.h"
#include "support/error.h"
#include "support/fields.h"
#include "weights/tensor_files.h"

namespace fwl {
namespace {

namespace py = pybind11;
using py::arg;
using ReleaseGil = py::call_guard<py::gil_scoped_release>;

nlohmann::json json_of(const py::object& settings) {
  return nlohmann::json::parse(py::module_::import("json").attr("dumps")(settings).cast<std::string>());
}

py::object python_of(const nlohmann::json& json) {
  return py::module_::import("json").attr("loads")(json.dump());
}

template <class Description>
Description description_from(const char* where, const py::object& settings, Description description) {
  Fields fields;
  add_fields(fields, description);
  fields.set_json(where, json_of(settings));
  fields.check(where);
  return description;
}

template <class Description>
py::object settings_of(Description description) {
  Fields fields;
  add_fields(fields, description);
  return python_of(fields.to_json());
}

AdapterDescription adapter_description(const char* where, const py::object& settings) {
  AdapterDescription description;
  description.memory.kind = "none";
  description.memory.suit_pretrained();
  return description_from(where, settings, std::move(description));
}

// The blocks that the settings name, the parameters of untrained memories in them.
py::tuple untrained_blocks(const py::object& settings, int64_t base_blocks, int64_t hidden_size) {
  FreshWeights fresh(0);
  const auto memory = description_from("blocks", settings, BlockConfig{}).make(base_blocks, hidden_size, fresh);
  py::dict parameters;
  for (const auto& [name, tensor] : memory->parameters()) parameters[name.c_str()] = tensor;
  return py::make_tuple(memory->options().blocks, parameters);
}

void bind_adapters(py::module_& module) {
  module.def(
      "model_hash", [](const std::string& path) { return model_hash(path); }, arg("path"), ReleaseGil(),
      "The hash by which adapters name their base: of a GGUF file, or of the config and weights in a folder.");
  module.def(
      "adapter_settings",
      [](const py::object& settings) { return settings_of(adapter_description("attach", settings)); }, arg("settings"),
      "Checked and complete settings of an adapter: fwl attach's defaults where nothing is said.");
  module.def("untrained_blocks", &untrained_blocks, arg("settings"), arg("base_blocks"), arg("hidden_size"));
  module.def(
      "read_adapter",
      [](const std::string& folder) {
        return std::pair(settings_of(read_adapter_description(folder)), load_tensors(open_adapter_weights(folder)));
      },
      arg("folder"), "The settings and the tensors of an adapter.");
  module.def(
      "save_adapter",
      [](const py::object& settings, const TensorMap& tensors, const std::string& folder) {
        save_adapter(NamedTensors(tensors.begin(), tensors.end()), adapter_description("save_adapter", settings),
                     folder);
      },
      arg("settings"), arg("tensors"), arg("folder"), "Writes an adapter that fwl's commands read too.");
}

// A model as `fwl train` leaves it.
struct TrainedModel {
  std::shared_ptr<LanguageModel> model;
  ModelDescription description;
  std::string tokenizer_path;  // "bytes", a file, or empty: unknown
};

TrainedModel open_trained(const std::string& path) {
  const auto folder = std::make_shared<const HuggingFaceFolder>(path);
  if (!is_trained_model(*folder)) fail(path, "a model trained by fwl", "another model");
  const auto description = read_description(*folder);
  const auto& file = description.tokenizer;
  return {open_trained_model(folder), description, file.empty() || file == "bytes" ? file : path + "/" + file};
}

TrainedModel fresh_trained(const py::object& settings, uint64_t seed) {
  auto description = description_from("config", settings, ModelDescription{});
  FreshWeights fresh(seed);
  auto model = make_model(description, fresh, nullptr);
  return {std::move(model), std::move(description), {}};
}

void bind_trained(py::module_& module) {
  py::class_<TrainedModel>(module, "TrainedModel", "A model in the form that fwl train writes.")
      .def_static("open", &open_trained, arg("path"), ReleaseGil())
      .def_static("fresh", &fresh_trained, arg("settings"), arg("seed") = 0, "One with random weights.")
      .def_readonly("model", &TrainedModel::model)
      .def_readwrite("tokenizer_path", &TrainedModel::tokenizer_path)
      .def_property_readonly("settings", [](const TrainedModel& trained) { return settings_of(trained.description); })
      .def(
          "save",
          [](const TrainedModel& trained, const std::string& folder) {
            save_trained_model(*trained.model, trained.description, trained.tokenizer_path, folder);
          },
          arg("folder"), ReleaseGil());
}

}  // namespace

void bind_store(py::module_& module) {
  bind_adapters(module);
  bind_trained(module);
}

}  // namespace fwl
