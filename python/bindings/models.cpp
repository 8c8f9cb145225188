// Base models and language models in Python.
#include <fmt/format.h>
#include <torch/extension.h>

#include <nlohmann/json.hpp>

#include "architecture/base_config.h"
#include "bindings.h"
#include "blocks/block_config.h"
#include "generate/generator.h"
#include "model/language_model.h"
#include "model/session_check.h"
#include "model/session_rows.h"
#include "model/token_logits.h"
#include "store/open_base.h"
#include "store/open_model.h"
#include "support/error.h"
#include "support/fields.h"

namespace fwl {
namespace {

namespace py = pybind11;
using ReleaseGil = py::call_guard<py::gil_scoped_release>;
using py::arg;
using Count = std::optional<int64_t>;
using Flag = std::optional<bool>;
using Name = std::optional<std::string>;

// The model's own context where nothing else is given.
ContextOptions context_options(const BaseModel& model, Count context, const Name& long_text, Count memory, Count clamp,
                               Flag same_length) {
  auto options = model.default_context();
  if (context) options.context_tokens = *context;
  if (long_text) options.long_text = long_text_from_name(*long_text);
  if (memory) options.memory_tokens = *memory;
  if (clamp) options.clamp_tokens = *clamp;
  if (same_length) options.is_same_length = *same_length;
  return options;
}

const char* context_help =
    "context: tokens after which long_text (refuse, slide or restart) happens. memory, clamp, same_length: how a "
    "Transformer-XL looks back. All as the model has them unless given.";

std::shared_ptr<BaseModel> new_base(const std::string& architecture, int64_t vocabulary_size, uint64_t seed,
                                    const py::kwargs& settings) {
  const auto text = py::module_::import("json").attr("dumps")(settings).cast<std::string>();
  FreshWeights weights(seed);
  return base_config(architecture, vocabulary_size, nlohmann::json::parse(text)).make(weights);
}

void bind_base(py::module_& module) {
  py::class_<BaseState>(module, "BaseState", "What a base model remembers of the texts it reads.")
      .def("clone", &BaseState::clone)
      .def_readonly("tokens_read", &BaseState::tokens_read)
      .def_readonly("cached_tokens", &BaseState::cached_tokens)
      .def_readonly("sequences", &BaseState::sequences)
      .def_property_readonly("bytes", &BaseState::bytes);
  py::class_<BaseModel, std::shared_ptr<BaseModel>>(module, "BaseModel")
      .def_property_readonly("architecture", &BaseModel::architecture)
      .def_property_readonly("hidden_size", &BaseModel::hidden_size)
      .def_property_readonly("context_tokens", &BaseModel::context_tokens)
      .def_property_readonly("device", &BaseModel::device)
      .def_property_readonly("dtype", &BaseModel::dtype)
      .def("to", &BaseModel::to, arg("device"), "Moves the weights for everybody who holds them.")
      .def_property_readonly("vocabulary_size", &BaseModel::vocabulary_size)
      .def_property_readonly("head", [](const BaseModel& model) { return std::const_pointer_cast<Head>(model.head()); })
      .def("parameters",
           [](const BaseModel& model) {
             py::dict result;
             for (const auto& [name, tensor] : model.parameters()) result[name.c_str()] = tensor;
             return result;
           })
      .def(
          "new_state",
          [](const BaseModel& model, int64_t sequences, Count context, const Name& long_text, Count memory, Count clamp,
             Flag same_length) {
            return model.new_state(sequences, context_options(model, context, long_text, memory, clamp, same_length));
          },
          arg("sequences") = 1, py::kw_only(), arg("context") = py::none(), arg("long_text") = py::none(),
          arg("memory") = py::none(), arg("clamp") = py::none(), arg("same_length") = py::none(), context_help)
      .def(
          "read",
          [](const BaseModel& model, const at::Tensor& tokens, BaseState& state, bool training) {
            return model.read(tokens, state, {.is_training = training});
          },
          arg("tokens"), arg("state"), arg("training") = false, ReleaseGil(),
          "Reads tokens (B,T), moves the state past them, and gives their hidden states (B,T,D). training: dropout "
          "acts.")
      .def(
          "read_together",
          [](const BaseModel& model, const std::vector<at::Tensor>& tokens, const std::vector<BaseState*>& states,
             bool training) {
            if (tokens.size() != states.size())
              fail("read_together", fmt::format("tokens for {} states", states.size()), std::to_string(tokens.size()));
            std::vector<TokenSpan> spans;
            for (size_t index = 0; index < states.size(); ++index) spans.push_back({tokens[index], states[index]});
            return model.read(spans, {.is_training = training});
          },
          arg("tokens"), arg("states"), arg("training") = false, ReleaseGil(),
          "The same for several states in one pass, each at its own position and with its own number of tokens.");
  module.def(
      "open_base",
      [](const std::string& path, const std::string& weights) {
        return open_base(path, weight_format_from_name(weights));
      },
      arg("path"), arg("weights") = "quantized", ReleaseGil(),
      "Opens a GGUF file or a Hugging Face folder. weights: quantized (as in the file) or fp32.");
  module.def("new_base", &new_base, arg("architecture"), arg("vocabulary_size"), arg("seed") = 0,
             "A base model with fresh weights; settings by the names that fwl train has under model.*, e.g. layers=2.");
}

std::vector<int64_t> generate(const LanguageModel& model, Session& session, int64_t max_tokens, double temperature,
                              int64_t top_k, double top_p, double min_p, double repeat_penalty,
                              const std::string& adapt, Count seed) {
  if (seed) session.sampler.seed = *seed;
  GenerationOptions options;
  options.sampler = {temperature, top_k, top_p, min_p, repeat_penalty};
  options.adaptation = adaptation_from_name(adapt);
  options.max_tokens = max_tokens;
  options.ignore_end = true;
  Fields fields;
  add_fields(fields, options);
  fields.check("generate");
  expect_own_session(model, session);
  return Generator(model, session).generate(options).tokens;
}

// What sessions name the model by: as given, or as open_model has found it.
std::string identity_of(const py::object& model, const Name& given) {
  if (given) return *given;
  if (!py::hasattr(model, "identity")) fail("session", "identity=, because the model does not come from files", "none");
  return model.attr("identity").cast<std::string>();
}

void bind_language_model(py::module_& module) {
  py::class_<Session>(module, "Session", "Everything that a language model remembers of the texts it reads.")
      .def("clone", &Session::clone)
      .def_property_readonly("tokens_read", &Session::tokens_read)
      .def_property_readonly("bytes", &Session::bytes)
      .def_property(
          "seed", [](const Session& session) { return session.sampler.seed; },
          [](Session& session, int64_t seed) { session.sampler.seed = seed; })
      .def(
          "rows",
          [](const Session& session, const at::Tensor& rows) {
            return map_rows(session, rows.numel(),
                            [&](const at::Tensor& tensor) { return tensor.index_select(0, rows.to(tensor.device())); });
          },
          arg("rows"), "A copy with these texts of the batch, in this order.")
      .def_readonly("fast", &Session::fast);
  py::class_<LanguageModel, std::shared_ptr<LanguageModel>>(module, "LanguageModel", py::dynamic_attr())
      .def(py::init([](std::shared_ptr<BaseModel> base, const std::shared_ptr<FastWeightLayer>& layer,
                       const py::object& blocks) {
             auto memories = blocks.is_none() ? nullptr : block_config(blocks).untrained(*base);
             return std::make_shared<LanguageModel>(std::move(base), layer, nullptr, std::move(memories));
           }),
           arg("base"), arg("layer") = nullptr, arg("blocks") = py::none(),
           "blocks: untrained memories in the blocks, as a dict of what fwl has under blocks.*, e.g. {'at': 'all'}.")
      .def_property_readonly("base", &LanguageModel::shared_base)
      .def_property_readonly(
          "tokenizer",
          [](const LanguageModel& model) { return std::const_pointer_cast<Tokenizer>(model.shared_tokenizer()); },
          "None where the model's files have none.")
      .def(
          "new_session",
          [](const LanguageModel& model, int64_t sequences, Count context, const Name& long_text, Count memory,
             Count clamp, Flag same_length) {
            return model.new_session(sequences,
                                     context_options(model.base(), context, long_text, memory, clamp, same_length));
          },
          arg("sequences") = 1, py::kw_only(), arg("context") = py::none(), arg("long_text") = py::none(),
          arg("memory") = py::none(), arg("clamp") = py::none(), arg("same_length") = py::none(), context_help)
      .def(
          "read",
          [](const LanguageModel& model, const at::Tensor& tokens, Session& session, const std::string& adapt,
             int64_t chunk) {
            expect_own_session(model, session);
            return model.read(tokens, session, {adaptation_from_name(adapt), chunk, false}).adapted;
          },
          arg("tokens"), arg("session"), arg("adapt") = "write", arg("chunk") = 0, ReleaseGil(),
          "Reads tokens (B,T) and gives the loss of each given those before it; the first of a text has none.")
      .def(
          "logits",
          [](const LanguageModel& model, const at::Tensor& tokens, Session& session, const std::string& adapt) {
            expect_own_session(model, session);
            return read_logits(model, tokens, session, adaptation_from_name(adapt));
          },
          arg("tokens"), arg("session"), arg("adapt") = "write", ReleaseGil(),
          "Reads tokens (B,T) and gives the logits (B,T,V) of the token after each.")
      .def(
          "next_logits",
          [](const LanguageModel& model, const Session& session, const std::string& adapt) {
            expect_own_session(model, session);
            return model.next_logits(session, adaptation_from_name(adapt));
          },
          arg("session"), arg("adapt") = "read", ReleaseGil())
      .def("generate", &generate, arg("session"), arg("max_tokens"), arg("temperature") = 0.8, arg("top_k") = 40,
           arg("top_p") = 0.95, arg("min_p") = 0.05, arg("repeat_penalty") = 1.0, arg("adapt") = "read",
           arg("seed") = py::none(), ReleaseGil(),
           "Generates so many tokens, reads them, and returns them. seed: the session's unless given.")
      .def("parameters",
           [](const LanguageModel& model) {
             py::dict result;
             for (const auto& [name, tensor] : model.parameters()) result[name.c_str()] = tensor;
             return result;
           })
      .def(
          "save_session",
          [](const py::object& self, const Session& session, const std::string& path, const Name& identity,
             const std::string& precision) {
            const auto& model = self.cast<const LanguageModel&>();
            expect_own_session(model, session);
            model.save_session(session, path, identity_of(self, identity), cache_precision_from_name(precision));
          },
          arg("session"), arg("path"), arg("identity") = py::none(), arg("precision") = "fp32",
          "identity: of model and adapter; that of an opened model unless given, which is also the program's. "
          "precision: of the KV cache in the file, fp32 (exact), bf16 or q8.")
      .def(
          "load_session",
          [](const py::object& self, const std::string& path, const Name& identity) {
            return self.cast<const LanguageModel&>().load_session(path, identity_of(self, identity));
          },
          arg("path"), arg("identity") = py::none());
  module.def(
      "open_model",
      [](const std::string& path, const std::string& adapter, const std::string& weights) {
        OpenedModel opened;
        {
          const py::gil_scoped_release others_may_run;
          opened = open_model(path, adapter, weight_format_from_name(weights));
        }
        auto model = py::cast(opened.model);
        model.attr("identity") = opened.identity;
        return model;
      },
      arg("path"), arg("adapter") = "", arg("weights") = "quantized",
      "Opens a model trained here, or a published one with or without an adapter. Its attribute identity names its "
      "files in sessions.");
}

}  // namespace

BlockConfig block_config(const py::object& settings) {
  const auto text = py::module_::import("json").attr("dumps")(settings).cast<std::string>();
  BlockConfig config;
  Fields fields;
  add_fields(fields, config);
  fields.set_json("blocks", {{"blocks", nlohmann::json::parse(text)}});
  fields.check("blocks");
  return config;
}

void bind_models(py::module_& module) {
  bind_base(module);
  bind_language_model(module);
}

}  // namespace fwl
