#include "cli/session_input.h"

#include <filesystem>

#include "base/cached_model.h"
#include "support/error.h"

namespace fwl {
namespace {

// A model with an end of its context goes on after it. Models without one have their own memory.
void set_long_text(const LanguageModel& model, const SessionInput& input) {
  auto* cached = dynamic_cast<CachedModel*>(&model.base());
  const bool is_bounded = cached && cached->context().context_tokens > 0;
  if (!is_bounded && input.context > 0)
    fail("--context", "a model with an end of its context", "one that has a memory of its own");
  if (!is_bounded) return;
  auto context = cached->context();
  if (input.context > 0) context.context_tokens = input.context;
  context.long_text = long_text_from_name(input.long_text);
  cached->set_context(context);
}

}  // namespace

void add_fields(Fields& fields, SessionInput& input) {
  add_fields(fields, static_cast<ModelInput&>(input));
  fields.add("session", input.session, "go on with this session, and keep it there; a new one if there is none");
  fields
      .add("adapt", input.adapt,
           "fast weights: prompt: learn from what is given; write: also from what is generated; read: use what was "
           "learned; off: neither")
      .choices({"prompt", "write", "read", "off"});
  fields.add("context", input.context, "tokens that the base sees; 0: all that it can")
      .range(0, 1 << 24)
      .short_name("c")
      .alias("ctx_size");
  fields.add("long_text", input.long_text, "after them: restart: read the last half again; slide; refuse")
      .choices({"restart", "slide", "refuse"});
}

OpenedSession::OpenedSession(SessionInput input, Console& console)
    : path_(input.session),
      reading_(adaptation_from_name(input.adapt == "prompt" ? "write" : input.adapt)),
      generating_(adaptation_from_name(input.adapt == "prompt" ? "read" : input.adapt)) {
  find_paths(input, console);
  opened_ = open_with_vocabulary(input, WeightFormat::quantized, console);
  set_long_text(model(), input);
  conventions_ = read_prompt_conventions(input.model);
  session_ = path_.empty() || !std::filesystem::exists(path_) ? model().new_session()
                                                              : model().load_session(path_, opened_.identity);
}

std::vector<TokenId> OpenedSession::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  const auto begin = tokenizer().begin_token();
  const bool has_begin = session_.tokens_read() == 0 && conventions_.adds_begin && begin;
  if (has_begin) ids.push_back(*begin);
  tokenizer().encode(text, ids);
  if (ids.size() == 1 && has_begin) ids.clear();
  return ids;
}

std::vector<TokenId> OpenedSession::encode_prompt(std::string_view text) const {
  auto ids = encode(text);
  if (!ids.empty() || session_.tokens_read() > 0) return ids;
  const auto begin = tokenizer().begin_token();
  const auto first = begin ? begin : tokenizer().end_token();
  if (!first) fail("--prompt", "a text to go on from", "nothing", "the vocabulary has no token that begins a text");
  return {*first};
}

void OpenedSession::save() const {
  if (!path_.empty()) model().save_session(session_, path_, opened_.identity);
}

std::vector<DriftFigure> drift_of(const LanguageModel& model, const Session& session) {
  const auto* layer = model.layer();
  if (!layer || !session.fast.is_defined()) return {};
  return drift_figures(session.fast, layer->parameters().slow, layer->steps());
}

}  // namespace fwl
