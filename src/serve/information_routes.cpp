// What the server is and does: /models, /props, /slots, /metrics.
#include <fmt/format.h>

#include "serve/api.h"
#include "serve/json_text.h"

namespace fwl {
namespace {

using nlohmann::json;

json models_json(const ServedModel& model) {
  const auto& base = model.model().base();
  const json one = {{"id", model.name},
                    {"object", "model"},
                    {"created", model.created},
                    {"owned_by", "fwl"},
                    {"meta",
                     {{"architecture", base.architecture()},
                      {"n_vocab", base.vocabulary_size()},
                      {"n_ctx_train", base.context_tokens()},
                      {"n_embd", base.hidden_size()},
                      {"size", base.weight_bytes()},
                      {"fast_weights", model.model().memory() ? model.model().memory()->kind() : "none"}}}};
  return {{"object", "list"}, {"data", json::array({one})}};
}

json props_json(const ServedState& state) {
  const auto& model = state.model;
  GenerationOptions defaults;
  Fields fields;
  add_fields(fields, defaults);
  return {{"default_generation_settings", {{"n_ctx", model.context.context_tokens}, {"params", fields.to_json()}}},
          {"total_slots", state.engine.options().batch},
          {"model_alias", model.name},
          {"chat_template", model.conventions.chat_template},
          {"bos_token", model.conventions.begin_text},
          {"eos_token", model.conventions.end_text},
          {"adapt", model.adapt},
          {"build_info", "fwl " FWL_VERSION}};
}

json slots_json(const SessionEngine& engine, const std::string& owner) {
  auto slots = json::array();
  const auto facts = engine.facts();
  for (size_t index = 0; index < facts.running.size(); ++index) {
    const auto& slot = facts.running[index];
    slots.push_back({{"id", index},
                     {"is_processing", true},
                     {"session", slot.owner == owner ? json(slot.session) : json()},
                     {"phase", slot.is_reading ? "prompt" : "generation"},
                     {"n_prompt_tokens", slot.prompt_tokens},
                     {"n_prompt_read", slot.prompt_read},
                     {"n_decoded", slot.generated},
                     {"seconds", slot.seconds}});
  }
  for (auto index = slots.size(); index < static_cast<size_t>(engine.options().batch); ++index)
    slots.push_back({{"id", index}, {"is_processing", false}});
  return slots;
}

std::string metrics_text(const EngineFacts& facts) {
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, double value) {
    text += fmt::format("# HELP fwl_{0} {1}\n# TYPE fwl_{0} {2}\nfwl_{0} {3}\n", name, help, type, value);
  };
  add("prompt_tokens_total", "counter", "Tokens of prompts that were read.", static_cast<double>(facts.prompt_tokens));
  add("prompt_seconds_total", "counter", "Time spent on reading prompts.", facts.prompt_seconds);
  add("tokens_predicted_total", "counter", "Generated tokens.", static_cast<double>(facts.generated_tokens));
  add("tokens_predicted_seconds_total", "counter", "Time spent on generation.", facts.generation_seconds);
  add("decode_steps_total", "counter", "Passes that generated tokens.", static_cast<double>(facts.steps));
  add("requests_total", "counter", "Requests that were answered.", static_cast<double>(facts.jobs_done));
  add("requests_failed_total", "counter", "Requests that failed or were stopped.",
      static_cast<double>(facts.jobs_failed));
  add("requests_refused_total", "counter", "Requests refused because the queue was full.",
      static_cast<double>(facts.jobs_refused));
  add("requests_processing", "gauge", "Requests that run.", static_cast<double>(facts.running.size()));
  add("requests_deferred", "gauge", "Requests that wait.", static_cast<double>(facts.waiting));
  add("sessions_in_memory", "gauge", "Idle sessions in memory.", static_cast<double>(facts.sessions_in_memory));
  add("session_bytes", "gauge", "Memory of idle sessions.", static_cast<double>(facts.session_bytes));
  return text;
}

}  // namespace

std::vector<Route> information_routes(const ServedState& state) {
  return {
      {"GET", "/models",
       [state](const ApiCall& call) { call.exchange->answer({.body = json_text(models_json(state.model))}); }},
      {"GET", "/props",
       [state](const ApiCall& call) { call.exchange->answer({.body = json_text(props_json(state))}); }},
      {"GET", "/slots",
       [state](const ApiCall& call) {
         call.exchange->answer({.body = json_text(slots_json(state.engine, call.owner))});
       }},
      {"GET", "/metrics",
       [state](const ApiCall& call) {
         call.exchange->answer({.type = "text/plain; version=0.0.4", .body = metrics_text(state.engine.facts())});
       }},
  };
}

}  // namespace fwl
