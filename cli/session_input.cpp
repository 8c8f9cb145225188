#include "cli/session_input.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/new_context.h"
#include "model/session_file.h"
#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

constexpr const char* documents_note = "documents";

TextMap notes_of(const std::map<std::string, int64_t>& documents) {
  return documents.empty() ? TextMap() : TextMap{{documents_note, nlohmann::json(documents).dump()}};
}

std::map<std::string, int64_t> documents_in(const std::string& path) {
  const auto note = session_note(open_session_file(path), documents_note);
  if (note.empty()) return {};
  std::map<std::string, int64_t> documents;
  const auto where = path + ": documents";
  const auto stored = parse_json_object(where, note);
  for (const auto& [hash, tokens] : stored.items()) {
    if (!tokens.is_number_unsigned()) fail(where, "numbers of tokens", tokens.type_name(), "the file is damaged");
    documents[hash] = tokens.get<int64_t>();
  }
  return documents;
}

void expect_own_context(const std::string& path, const ContextOptions& own, const SessionInput& input) {
  if (input.context > 0 && input.context != own.context_tokens)
    fail("--context", fmt::format("{}, as in {}", own.context_tokens, path), std::to_string(input.context),
         "a session keeps the context that it was created with");
  if (input.long_text != "auto" && long_text_from_name(input.long_text) != own.long_text)
    fail("--long-text", "that of " + path, input.long_text, "a session keeps the context that it was created with");
}

}  // namespace

void add_kv_cache_field(Fields& fields, std::string& kv_cache) {
  fields.add("kv_cache", kv_cache, "keys and values of past tokens in memory: fp32; bf16: half the size, rounded")
      .choices({"fp32", "bf16"});
}

ContextOptions new_context(const BaseModel& base, int64_t context_tokens, const std::string& long_text,
                           const std::string& kv_cache) {
  auto context = base.default_context();
  context.has_bf16_cache = kv_cache == "bf16";
  const bool is_bounded = context.context_tokens > 0;
  if (!is_bounded && context_tokens > 0)
    fail("--context", "a model with a limited context", "one that reads texts of any length");
  if (!is_bounded) return context;
  if (context_tokens > 0) context.context_tokens = context_tokens;
  context.long_text = long_text == "auto" ? LongText::restart : long_text_from_name(long_text);
  return context;
}

void add_fields(Fields& fields, SessionInput& input) {
  add_fields(fields, static_cast<ModelInput&>(input));
  fields.add("session", input.session, "session file to continue and to save to; created if there is none")
      .writes_file();
  fields
      .add("session_precision", input.session_precision,
           "KV cache in the session file: bf16; fp32: goes on with the same bits, twice the size; q8: half the size")
      .choices({"bf16", "fp32", "q8"});
  fields
      .add("adapt", input.adapt,
           "fast weights: prompt: learn from the prompt; write: also from generated text; read: use them without "
           "learning; off: do not use them")
      .choices({"prompt", "write", "read", "off"});
  fields.add("context", input.context, "context length in tokens; 0: the model's own")
      .range(0, 1 << 24)
      .short_name("c")
      .alias("ctx_size");
  fields
      .add("long_text", input.long_text,
           "when the context is full: restart: read its last half again; slide; refuse; auto: as in the session, or "
           "restart")
      .choices({"auto", "restart", "slide", "refuse"});
  add_kv_cache_field(fields, input.kv_cache);
}

void add_special_field(Fields& fields, bool& special) {
  fields.add("special", special,
             "control tokens that the text spells, such as <|endoftext|>, act as such; by default they are text");
}

MarkedText marked_text(std::string text, bool special) {
  return special ? MarkedText::all_markup(std::move(text)) : MarkedText::plain(std::move(text));
}

OpenedSession::OpenedSession(SessionInput input, Console& console)
    : path_(input.session),
      lock_(path_.empty() ? FileLock() : FileLock(path_)),
      precision_(cache_precision_from_name(input.session_precision)),
      reading_(adaptation_from_name(input.adapt == "prompt" ? "write" : input.adapt)),
      generating_(adaptation_from_name(input.adapt == "prompt" ? "read" : input.adapt)) {
  find_paths(input, console);
  opened_ = with_blocks(open_with_vocabulary(input, WeightFormat::quantized, console), input.blocks);
  conventions_ = read_prompt_conventions(input.model);
  if (path_.empty() || !std::filesystem::exists(path_)) {
    session_ = model().new_session(1, new_context(model().base(), input.context, input.long_text, input.kv_cache));
    return;
  }
  session_ = model().load_session(path_, opened_.identity);
  session_.base.context.has_bf16_cache = input.kv_cache == "bf16";
  documents_ = documents_in(path_);
  expect_own_context(path_, session_.base.context, input);
}

std::string OpenedSession::context_text() const {
  return context_tokens() > 0 ? fmt::format("context of {} tokens", context_tokens()) : "context without a limit";
}

std::vector<TokenId> OpenedSession::encode(const MarkedText& text) const {
  std::vector<TokenId> ids;
  const bool has_begin = session_.tokens_read() == 0 && adds_begin();
  if (has_begin) ids.push_back(*tokenizer().begin_token());
  tokenizer().encode_marked(text.text(), text.markup(), ids);
  if (ids.size() == 1 && has_begin) ids.clear();
  return ids;
}

std::vector<TokenId> OpenedSession::encode_prompt(const MarkedText& text) const {
  auto ids = encode(text);
  if (!ids.empty() || session_.tokens_read() > 0) return ids;
  const auto begin = tokenizer().begin_token();
  const auto first = begin ? begin : tokenizer().end_token();
  if (!first)
    fail("--prompt", "a text to continue", "nothing", "the vocabulary has no begin or end token to start from");
  return {*first};
}

void OpenedSession::set_path(const std::string& path) {
  if (path == path_) return;
  lock_ = FileLock(path);
  path_ = path;
}

void OpenedSession::save() const {
  if (!path_.empty()) model().save_session(session_, path_, opened_.identity, precision_, notes_of(documents_));
}

void warn_of_rollbacks(int64_t rollbacks, Console& console) {
  if (rollbacks > 0)
    console.note(
        fmt::format("warning: the fast weights diverged {} time{} and were rolled back to their last good state "
                    "(train with layer.decay, or --adapt read for texts of this length)",
                    rollbacks, rollbacks == 1 ? "" : "s"));
}

}  // namespace fwl
