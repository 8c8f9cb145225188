#include "serve/completion_call.h"

#include <fmt/format.h>

#include <random>

#include "serve/api_error.h"
#include "serve/logprob_json.h"
#include "support/error.h"

namespace fwl {
namespace {

using nlohmann::json;

const char* finish_reason(StopReason reason) {
  return reason == StopReason::max_tokens ? "length" : "stop";
}

// Called on the engine's thread only.
class CompletionCall : public std::enable_shared_from_this<CompletionCall> {
 public:
  CompletionCall(const ServedModel& model, CompletionRequest request, std::shared_ptr<Exchange> exchange)
      : model_(model),
        request_(std::move(request)),
        exchange_(std::move(exchange)),
        id_(random_id(request_.is_chat ? "chatcmpl-" : "cmpl-")),
        created_(static_cast<int64_t>(std::time(nullptr))),
        choices_(request_.jobs.size()),
        left_(request_.jobs.size()) {}

  void submit(SessionEngine& engine) {
    for (size_t index = 0; index < request_.jobs.size(); ++index)
      engine.submit(
          Job{request_.jobs[index], std::make_shared<Listener>(shared_from_this(), index), exchange_->is_gone()});
  }

 private:
  struct Choice {
    std::string text;
    std::vector<ScoredToken> prompt, tokens;  // scored ones
    size_t sent_tokens = 0;                   // in a stream
    bool has_begun = false;                   // in a stream
    JobResult result;
  };

  class Listener : public JobListener {
   public:
    Listener(std::shared_ptr<CompletionCall> call, size_t index) : call_(std::move(call)), index_(index) {}
    void on_prompt(const PromptProgress&, const std::vector<ScoredToken>& scored) override {
      auto& prompt = call_->choices_[index_].prompt;
      prompt.insert(prompt.end(), scored.begin(), scored.end());
    }
    void on_token(const ScoredToken& token, const std::string& text) override { call_->add(index_, &token, text); }
    void on_rest(const std::string& text) override { call_->add(index_, nullptr, text); }
    void on_done(const JobResult& result) override { call_->finish_choice(index_, result); }
    void on_error(std::exception_ptr error) override { call_->fail(error); }

   private:
    std::shared_ptr<CompletionCall> call_;
    size_t index_;
  };

  void add(size_t index, const ScoredToken* token, const std::string& text) {
    auto& choice = choices_[index];
    if (token && (request_.has_logprobs || request_.has_fast_scores)) choice.tokens.push_back(*token);
    choice.text += text;
    if (!request_.streams) return;
    begin_choice(index);
    if (!text.empty()) send_piece(index, text, nullptr);
  }

  void begin_choice(size_t index) {
    if (!is_streaming_) exchange_->begin_stream("text/event-stream");
    is_streaming_ = true;
    auto& choice = choices_[index];
    if (choice.has_begun) return;
    choice.has_begun = true;
    if (request_.is_chat)
      send_chunk({{"index", index},
                  {"delta", {{"role", "assistant"}, {"content", ""}}},
                  {"logprobs", nullptr},
                  {"finish_reason", nullptr}});
    else if (!request_.echoed.empty())
      send_piece(index, request_.echoed[index], nullptr);
  }

  void send_piece(size_t index, const std::string& text, const char* reason) {
    auto& choice = choices_[index];
    json piece = {{"index", index}, {"finish_reason", reason ? json(reason) : json()}};
    if (request_.is_chat)
      piece["delta"] = text.empty() ? json::object() : json{{"content", text}};
    else
      piece["text"] = text;
    const std::vector<ScoredToken> unsent(choice.tokens.begin() + static_cast<int64_t>(choice.sent_tokens),
                                          choice.tokens.end());
    choice.sent_tokens = choice.tokens.size();
    add_scores(piece, unsent);
    send_chunk(piece);
  }

  void add_scores(json& piece, const std::vector<ScoredToken>& tokens) const {
    piece["logprobs"] = nullptr;
    if (request_.has_logprobs)
      piece["logprobs"] = request_.is_chat ? chat_logprobs(model_, tokens) : completion_logprobs(model_, tokens);
    if (request_.has_fast_scores) piece["fast_scores"] = fast_scores(model_, tokens);
  }

  json head(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}};
  }

  void send_chunk(const json& choice) {
    auto event = head(request_.is_chat ? "chat.completion.chunk" : "text_completion");
    event["choices"] = json::array({choice});
    exchange_->send(sse_event(event));
  }

  void finish_choice(size_t index, const JobResult& result) {
    choices_[index].result = result;
    if (request_.streams) {
      begin_choice(index);
      send_piece(index, "", finish_reason(result.stop_reason));
    }
    if (--left_ == 0) finish();
  }

  json usage() const {
    int64_t prompt = 0, generated = 0, kept = 0;
    for (const auto& choice : choices_) {
      prompt += choice.result.prompt.read;
      generated += choice.result.generated;
      kept += choice.result.kept_tokens;
    }
    auto usage = usage_json(prompt, generated);
    usage["prompt_tokens_details"] = {{"cached_tokens", kept}};
    return usage;
  }

  json timings() const {
    const auto& result = choices_.front().result;
    return {{"prompt_n", result.prompt.read},
            {"prompt_ms", 1000 * result.prompt_seconds},
            {"predicted_n", result.generated},
            {"predicted_ms", 1000 * result.generation_seconds}};
  }

  json whole_choice(size_t index) const {
    const auto& choice = choices_[index];
    json one = {{"index", index}, {"finish_reason", finish_reason(choice.result.stop_reason)}};
    if (request_.is_chat)
      one["message"] = {{"role", "assistant"}, {"content", choice.text}};
    else
      one["text"] = (request_.echoed.empty() ? std::string() : request_.echoed[index]) + choice.text;
    auto tokens = choice.prompt;
    tokens.insert(tokens.end(), choice.tokens.begin(), choice.tokens.end());
    add_scores(one, tokens);
    return one;
  }

  void finish() {
    if (request_.streams) {
      if (request_.includes_usage) {
        auto last = head(request_.is_chat ? "chat.completion.chunk" : "text_completion");
        last["choices"] = json::array();
        last["usage"] = usage();
        last["timings"] = timings();
        exchange_->send(sse_event(last));
      }
      exchange_->send("data: [DONE]\n\n");
      return exchange_->end_stream();
    }
    auto answer = head(request_.is_chat ? "chat.completion" : "text_completion");
    answer["choices"] = json::array();
    for (size_t index = 0; index < choices_.size(); ++index) answer["choices"].push_back(whole_choice(index));
    answer["usage"] = usage();
    answer["timings"] = timings();
    exchange_->answer({.body = json_text(answer)});
  }

  // The first failure ends the whole call.
  void fail(const std::exception_ptr& error) {
    if (has_failed_) return;
    has_failed_ = true;
    *exchange_->is_gone() = true;  // the other choices stop too
    const auto answer = error_answer(error);
    if (!is_streaming_) return exchange_->answer(answer);
    exchange_->send("data: " + answer.body + "\n\n");
    exchange_->end_stream();
  }

  const ServedModel& model_;
  CompletionRequest request_;
  std::shared_ptr<Exchange> exchange_;
  std::string id_;
  int64_t created_;
  std::vector<Choice> choices_;
  size_t left_;
  bool is_streaming_ = false, has_failed_ = false;
};

}  // namespace

void run_completion(const ServedModel& model, SessionEngine& engine, CompletionRequest request,
                    const std::shared_ptr<Exchange>& exchange) {
  const auto call = std::make_shared<CompletionCall>(model, std::move(request), exchange);
  try {
    call->submit(engine);
  } catch (...) {
    *exchange->is_gone() = true;  // choices that were accepted stop
    throw;
  }
}

std::string random_id(const std::string& prefix) {
  std::random_device source;
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, source(), source(), source());
}

std::string sse_event(const json& event) {
  return "data: " + json_text(event) + "\n\n";
}

json usage_json(int64_t prompt_tokens, int64_t generated_tokens) {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", generated_tokens},
          {"total_tokens", prompt_tokens + generated_tokens}};
}

}  // namespace fwl
