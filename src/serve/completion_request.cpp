#include "serve/completion_request.h"

#include <random>

#include "support/error.h"
#include "support/fields.h"
#include "support/json.h"

namespace fwl {
namespace {

using nlohmann::json;

constexpr size_t most_choices = 128;
constexpr int64_t most_alternatives = 100;

// The field, or null if it is missing.
const json& field(const json& body, const char* name) {
  static const json null;
  const auto found = body.find(name);
  return found == body.end() ? null : *found;
}

[[noreturn]] void fail_field(const char* name, const std::string& expected, const json& got) {
  fail(std::string("\"") + name + "\"", expected, json_text(got).substr(0, 80));
}

bool flag(const json& body, const char* name) {
  const auto& value = field(body, name);
  if (!value.is_null() && !value.is_boolean()) fail_field(name, "true or false", value);
  return value.is_boolean() && value.get<bool>();
}

int64_t whole_number(const json& body, const char* name, int64_t otherwise, int64_t low, int64_t high) {
  const auto& value = field(body, name);
  if (value.is_null()) return otherwise;
  const bool is_whole = value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() < 1ULL << 62);
  if (!is_whole || value.get<int64_t>() < low || value.get<int64_t>() > high)
    fail_field(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), value);
  return value.get<int64_t>();
}

// Sampling, length and stop texts by the names and bounds that the command line has.
GenerationOptions generation_options(const json& body, int64_t max_tokens) {
  GenerationOptions options;
  options.max_tokens = max_tokens;
  Fields fields;
  add_fields(fields, options);
  for (const auto& name : fields.names()) {
    const auto& value = field(body, name.c_str());
    if (value.is_null()) continue;
    fields.set_json("request", {{name, name == "stop" && value.is_string() ? json::array({value}) : value}});
  }
  for (const auto* name : {"max_completion_tokens", "n_predict"})
    if (const auto& value = field(body, name); !value.is_null()) fields.set_json("request", {{"max_tokens", value}});
  fields.check("request");
  if (options.stops.size() > 16) fail("\"stop\"", "at most 16 texts", std::to_string(options.stops.size()));
  options.ignore_end = flag(body, "ignore_eos");
  return options;
}

std::map<TokenId, double> logit_bias(const ServedModel& model, const json& body) {
  std::map<TokenId, double> result;
  const auto& given = field(body, "logit_bias");
  if (given.is_null()) return result;
  if (!given.is_object()) fail_field("logit_bias", "an object of token ids and numbers", given);
  for (const auto& [key, bias] : given.items()) {
    const bool is_id = !key.empty() && key.size() <= 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!is_id || !bias.is_number()) fail_field("logit_bias", "an object of token ids and numbers", given);
    const auto token = static_cast<TokenId>(std::stol(key));
    model.check_prompt({token});
    result[token] = std::clamp(bias.get<double>(), -100.0, 100.0);
  }
  return result;
}

void refuse_unsupported(const json& body, std::initializer_list<const char*> names) {
  for (const auto* name : names) {
    const auto& value = field(body, name);
    const bool is_set = !value.is_null() && !(value.is_array() && value.empty()) && value != "none" && value != "auto";
    if (is_set) fail(std::string("\"") + name + "\"", "no such field", "one", "not supported by this server");
  }
}

JobRequest shared_job(const ServedModel& model, const std::string& owner, const HttpRequest& request, const json& body,
                      int64_t max_tokens) {
  JobRequest job;
  job.session = {owner, session_id(request, body)};
  set_adaptation(job, model, body);
  job.generation = generation_options(body, max_tokens);
  if (!field(body, "seed").is_null()) job.seed = whole_number(body, "seed", 0, -(int64_t{1} << 53), int64_t{1} << 53);
  if (job.seed) job.seed = std::abs(*job.seed);
  job.logit_bias = logit_bias(model, body);
  job.wants_slow = flag(body, "fast_scores");
  if (job.wants_slow) job.top_logprobs = 0;
  return job;
}

CompletionRequest shared_request(const json& body, bool is_chat) {
  CompletionRequest result{.is_chat = is_chat};
  result.streams = flag(body, "stream");
  result.has_fast_scores = flag(body, "fast_scores");
  const auto& options = field(body, "stream_options");
  if (!options.is_null() && !options.is_object()) fail_field("stream_options", "an object", options);
  result.includes_usage = options.is_object() && flag(options, "include_usage");
  return result;
}

// One job per choice, with consecutive seeds.
void add_choices(CompletionRequest& result, const JobRequest& job, int64_t count) {
  for (int64_t index = 0; index < count; ++index) {
    result.jobs.push_back(job);
    if (job.seed) result.jobs.back().seed = *job.seed + index;
  }
}

std::vector<TokenId> token_list(const json& list) {
  std::vector<TokenId> tokens;
  for (const auto& token : list) {
    if (!token.is_number_integer() || token.get<int64_t>() < 0 || token.get<int64_t>() > INT32_MAX)
      fail_field("prompt", "a text, a list of token ids, or a list of these", list);
    tokens.push_back(token.get<TokenId>());
  }
  return tokens;
}

// A text, a list of token ids, or a list of these.
std::vector<json> prompts_of(const json& body) {
  const auto& given = field(body, "prompt");
  if (given.is_null()) return {json("")};
  if (given.is_string() || (given.is_array() && !given.empty() && given[0].is_number())) return {given};
  if (!given.is_array() || given.empty())
    fail_field("prompt", "a text, a list of token ids, or a list of these", given);
  for (const auto& one : given)
    if (!one.is_string() && !one.is_array())
      fail_field("prompt", "a text, a list of token ids, or a list of these", given);
  return {given.begin(), given.end()};
}

}  // namespace

json request_json(const HttpRequest& request) {
  auto body = parse_json("request", request.body);
  if (!body.is_object()) fail("request", "a JSON object", body.type_name());
  return body;
}

std::string session_id(const HttpRequest& request, const json& body) {
  const auto& given = field(body, "session_id");
  if (!given.is_null() && !given.is_string()) fail_field("session_id", "a text", given);
  auto id = given.is_string() ? given.get<std::string>() : request.header("x-session-id");
  if (!id.empty()) check_session_id(id);
  return id;
}

void set_adaptation(JobRequest& job, const ServedModel& model, const json& body) {
  const auto& given = field(body, "adapt");
  if (!given.is_null() && !given.is_string()) fail_field("adapt", "off, read, write or prompt", given);
  const auto name = given.is_string() ? given.get<std::string>() : model.adapt;
  job.reading = adaptation_from_name(name == "prompt" ? "write" : name);
  job.generating = adaptation_from_name(name == "prompt" ? "read" : name);
}

std::vector<ChatMessage> messages_of(const json& list) {
  if (!list.is_array() || list.empty()) fail_field("messages", "a list of messages", list);
  std::vector<ChatMessage> messages;
  for (const auto& one : list) {
    const auto& role = one.is_object() ? field(one, "role") : list;
    if (!role.is_string()) fail_field("messages", "objects with \"role\" and \"content\"", one);
    ChatMessage message{role.get<std::string>(), {}};
    const auto& content = field(one, "content");
    if (content.is_string()) message.content = content.get<std::string>();
    for (const auto& part : content.is_array() ? content : json::array()) {
      if (!part.is_object() || field(part, "type") != "text" || !field(part, "text").is_string())
        fail_field("content", "text parts", part);
      message.content += part["text"].get<std::string>();
    }
    if (!content.is_string() && !content.is_array()) fail_field("content", "a text", content);
    messages.push_back(std::move(message));
  }
  return messages;
}

json to_json(const std::vector<ChatMessage>& messages) {
  auto list = json::array();
  for (const auto& message : messages) list.push_back({{"role", message.role}, {"content", message.content}});
  return list;
}

CompletionRequest read_completion(const ServedModel& model, const std::string& owner, const HttpRequest& request) {
  const auto body = request_json(request);
  refuse_unsupported(body, {"suffix"});
  auto result = shared_request(body, false);
  auto job = shared_job(model, owner, request, body, 16);
  const auto& logprobs = field(body, "logprobs");
  if (logprobs.is_boolean()) {
    if (logprobs.get<bool>()) job.top_logprobs = 1;
  } else {
    job.top_logprobs = std::max(job.top_logprobs, whole_number(body, "logprobs", -1, 0, most_alternatives));
  }
  result.has_logprobs = !logprobs.is_null() && logprobs != false;
  const bool echoes = flag(body, "echo");
  job.scores_prompt = echoes && result.has_logprobs;
  const auto count = whole_number(body, "n", 1, 1, most_choices);
  whole_number(body, "best_of", count, count, count);
  const auto prompts = prompts_of(body);
  if (prompts.size() * static_cast<size_t>(count) > most_choices)
    fail("request", "at most 128 choices", std::to_string(prompts.size() * static_cast<size_t>(count)));
  if (prompts.size() * static_cast<size_t>(count) > 1 && !job.session.id.empty())
    fail("request", "one prompt and one choice with a session", "several", "a session has one text");
  for (const auto& prompt : prompts) {
    if (prompt.is_string()) {
      job.make_prompt = [&model, text = prompt.get<std::string>()](const SessionPlace& place) {
        return Prompt{model.encode_prompt(text, place.is_fresh)};
      };
    } else {
      job.make_prompt = [tokens = token_list(prompt)](const SessionPlace&) { return Prompt{tokens}; };
    }
    const auto tokens = job.make_prompt({.is_fresh = job.session.id.empty()}).tokens;
    model.check_prompt(tokens);
    add_choices(result, job, count);
    if (echoes)
      result.echoed.insert(result.echoed.end(), static_cast<size_t>(count),
                           prompt.is_string() ? prompt.get<std::string>() : model.tokenizer().decode(tokens));
  }
  return result;
}

CompletionRequest read_chat_completion(const ServedModel& model, const std::string& owner, const HttpRequest& request) {
  const auto body = request_json(request);
  refuse_unsupported(body, {"tools", "functions", "tool_choice", "function_call", "audio"});
  const auto& format = field(body, "response_format");
  if (format.is_object() && field(format, "type") != "text")
    fail("\"response_format\"", "text", json_text(format).substr(0, 80), "not supported by this server");
  auto result = shared_request(body, true);
  auto job = shared_job(model, owner, request, body, 512);
  result.has_logprobs = flag(body, "logprobs");
  const auto alternatives = whole_number(body, "top_logprobs", 0, 0, most_alternatives);
  if (result.has_logprobs) job.top_logprobs = alternatives;
  const auto messages = messages_of(field(body, "messages"));
  model.render(messages);  // refuses now what the template does not accept
  job.make_prompt = [&model, messages](const SessionPlace& place) {
    const auto known =
        place.notes.empty() ? std::vector<ChatMessage>{} : messages_of(parse_json("notes of the session", place.notes));
    return model.chat_prompt(messages, known, place);
  };
  job.notes_after = [messages](const std::string&, const std::string& text) {
    auto all = messages;
    all.push_back({"assistant", text});
    return json_text(to_json(all));
  };
  const auto count = whole_number(body, "n", 1, 1, most_choices);
  if (count > 1 && !job.session.id.empty())
    fail("\"n\"", "1 with a session", std::to_string(count), "a session has one text");
  add_choices(result, job, count);
  return result;
}

}  // namespace fwl
