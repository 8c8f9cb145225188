// Text and tokens: /tokenize, /detokenize, /apply-template, /tokenizer_info. Names are those of llama.cpp and of
// lm-evaluation-harness; both are understood and answered.
#include "serve/api.h"
#include "serve/completion_request.h"
#include "support/error.h"

namespace fwl {
namespace {

using nlohmann::json;

json tokenize(const ServedModel& model, const json& body) {
  const auto* name = body.contains("content") ? "content" : "prompt";
  if (!body.contains(name) || !body[name].is_string()) fail("\"content\"", "a text", "none");
  const auto text = body[name].get<std::string>();
  bool adds_begin = false;
  for (const auto* key : {"add_special", "add_special_tokens"})
    if (body.contains(key) && body[key].is_boolean()) adds_begin = body[key].get<bool>();
  // Clients look up control tokens by their text: a text that is nothing but one is taken for it.
  const bool is_control = text == model.conventions.begin_text || text == model.conventions.end_text;
  const bool is_markup = body.value("parse_special", json(is_control)) == true;
  const auto tokens = model.encode(is_markup ? MarkedText::all_markup(text) : MarkedText::plain(text), adds_begin);
  json answer = {{"tokens", tokens}, {"count", tokens.size()}, {"max_model_len", model.context.context_tokens}};
  if (body.value("with_pieces", json()) == true) {
    answer["tokens"] = json::array();
    for (const auto token : tokens) answer["tokens"].push_back({{"id", token}, {"piece", model.text_of(token)}});
  }
  return answer;
}

json detokenize(const ServedModel& model, const json& body) {
  std::vector<TokenId> tokens;
  const auto list = body.value("tokens", json());
  if (!list.is_array()) fail("\"tokens\"", "a list of token ids", list.type_name());
  for (const auto& token : list) {
    if (!token.is_number_integer() || token.get<int64_t>() < 0 || token.get<int64_t>() > INT32_MAX)
      fail("\"tokens\"", "a list of token ids", json_text(token));
    tokens.push_back(token.get<TokenId>());
  }
  model.check_prompt(tokens);
  const auto text = model.tokenizer().decode(tokens);
  return {{"content", text}, {"prompt", text}};
}

json tokenizer_info(const ServedModel& model) {
  const auto& tokenizer = model.tokenizer();
  const auto id = [](std::optional<TokenId> token) { return token ? json(*token) : json(); };
  const auto text = [](const std::string& token) { return token.empty() ? json() : json(token); };
  return {{"tokenizer_class", tokenizer.kind()},
          {"vocab_size", tokenizer.vocabulary_size()},
          {"bos_token", text(model.conventions.begin_text)},
          {"eos_token", text(model.conventions.end_text)},
          {"bos_token_id", id(tokenizer.begin_token())},
          {"eos_token_id", id(tokenizer.end_token())},
          {"chat_template", text(model.conventions.chat_template)},
          {"add_bos_token", model.conventions.adds_begin}};
}

}  // namespace

std::vector<Route> text_routes(const ServedState& state) {
  const auto* model = &state.model;
  const auto with_body = [model](auto answer) {
    return [model, answer](const ApiCall& call) {
      call.exchange->answer({.body = json_text(answer(*model, request_json(call.request)))});
    };
  };
  return {
      {"POST", "/tokenize", with_body(tokenize)},
      {"POST", "/detokenize", with_body(detokenize)},
      {"POST", "/apply-template", with_body([](const ServedModel& served, const json& body) {
         return json{{"prompt", served.render(messages_of(body.value("messages", json()))).text()}};
       })},
      {"GET", "/tokenizer_info",
       [model](const ApiCall& call) { call.exchange->answer({.body = json_text(tokenizer_info(*model))}); }},
  };
}

}  // namespace fwl
