// What OpenAI's clients call: /completions, /chat/completions, /embeddings.
#include "serve/api.h"
#include "serve/api_error.h"
#include "serve/base64.h"
#include "serve/completion_call.h"
#include "sessions/embedding.h"
#include "support/error.h"

namespace fwl {
namespace {

using nlohmann::json;

std::vector<std::vector<TokenId>> embedding_inputs(const ServedModel& model, const json& body) {
  const auto input = body.value("input", json());
  const bool is_list = input.is_array() && !input.empty() && !input[0].is_number();
  std::vector<std::vector<TokenId>> texts;
  for (const auto& one : is_list ? input : json::array({input})) {
    const bool is_tokens = one.is_array() && std::ranges::all_of(one, [](const json& token) {
                             return token.is_number_unsigned() && token.get<uint64_t>() <= INT32_MAX;
                           });
    if (!one.is_string() && !is_tokens) fail("\"input\"", "a text, a list of token ids, or a list of these", "another");
    texts.push_back(is_tokens ? one.get<std::vector<TokenId>>() : model.encode_prompt(one.get<std::string>(), true));
    model.check_prompt(texts.back());
    if (texts.back().empty()) fail("\"input\"", "at least one token", "none");
  }
  return texts;
}

json embedding_json(const std::vector<float>& embedding, size_t index, bool is_base64) {
  const std::string_view bytes(reinterpret_cast<const char*>(embedding.data()), embedding.size() * sizeof(float));
  return {{"object", "embedding"},
          {"index", index},
          {"embedding", is_base64 ? json(base64_encode(bytes)) : json(embedding)}};
}

void answer_embeddings(const ServedState& state, const ApiCall& call) {
  const auto body = request_json(call.request);
  const bool is_base64 = body.value("encoding_format", json()) == "base64";
  const auto texts = embedding_inputs(state.model, body);
  const auto exchange = call.exchange;
  const auto* model = &state.model;
  state.engine.submit(SessionTask{
      {},
      [=](SessionShelf&) {
        json answer = {{"object", "list"}, {"model", model->name}, {"data", json::array()}};
        int64_t tokens = 0;
        for (size_t index = 0; index < texts.size() && !*exchange->is_gone(); ++index) {
          answer["data"].push_back(embedding_json(mean_hidden_state(model->model(), texts[index]), index, is_base64));
          tokens += static_cast<int64_t>(texts[index].size());
        }
        answer["usage"] = {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
        exchange->answer({.body = json_text(answer)});
      },
      [exchange](const std::exception_ptr& error) { exchange->answer(error_answer(error)); }});
}

}  // namespace

std::vector<Route> completion_routes(const ServedState& state) {
  return {
      {"POST", "/completions",
       [state](const ApiCall& call) {
         run_completion(state.model, state.engine, read_completion(state.model, call.owner, call.request),
                        call.exchange);
       }},
      {"POST", "/chat/completions",
       [state](const ApiCall& call) {
         run_completion(state.model, state.engine, read_chat_completion(state.model, call.owner, call.request),
                        call.exchange);
       }},
      {"POST", "/embeddings", [state](const ApiCall& call) { answer_embeddings(state, call); }},
  };
}

}  // namespace fwl
