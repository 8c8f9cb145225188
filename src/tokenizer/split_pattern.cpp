#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/split_pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <new>

#include "support/error.h"
#include "tokenizer/encode_budget.h"
#include "tokenizer/pattern_dialect.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

constexpr size_t max_pattern_bytes = 10000;
// Published patterns need a handful of steps per match; this limit stops a hostile pattern quickly.
constexpr uint32_t max_match_steps = 1'000'000;
// The limit holds for every position anew; a search looks at this many before it asks whether it may go on.
constexpr size_t positions_at_once = 128;

std::string message_of(int code) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

// The start of the character that holds `place`, or the end of the text.
size_t character_start(std::string_view text, size_t place) {
  if (place >= text.size()) return text.size();
  while (place > 0 && (static_cast<unsigned char>(text[place]) & 0xC0) == 0x80) --place;
  return place;
}

const PCRE2_UCHAR* units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.empty() ? "" : text.data());
}

}  // namespace

struct SplitPattern::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

SplitPattern::Workspace::Workspace()
    : match_data_(pcre2_match_data_create(1, nullptr)), limits_(pcre2_match_context_create(nullptr)) {
  if (!match_data_ || !limits_) throw std::bad_alloc();
  pcre2_set_match_limit(static_cast<pcre2_match_context*>(limits_), max_match_steps);
}
SplitPattern::Workspace::~Workspace() {
  pcre2_match_context_free(static_cast<pcre2_match_context*>(limits_));
  pcre2_match_data_free(static_cast<pcre2_match_data*>(match_data_));
}

SplitPattern::SplitPattern(std::string where, std::string_view pattern, bool is_literal) : where_(std::move(where)) {
  if (pattern.size() > max_pattern_bytes)
    fail(where_, fmt::format("a split pattern of at most {} bytes", max_pattern_bytes),
         fmt::format("{}", pattern.size()));
  const auto text = is_literal ? std::string(pattern) : pattern_for_pcre2(where_, pattern);
  const auto options =
      PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT | (is_literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
  int error = 0;
  size_t offset = 0;
  auto code = std::make_shared<Code>();
  code->code = pcre2_compile(units(text), text.size(), options, &error, &offset, nullptr);
  if (!code->code) fail(where_, "a split pattern", fmt::format("'{}'", pattern.substr(0, 200)), message_of(error));
  pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);  // if it fails, the pattern is interpreted
  code_ = std::move(code);
}

bool SplitPattern::find(std::string_view text, size_t from, Match& match, Workspace& workspace) const {
  auto* data = static_cast<pcre2_match_data*>(workspace.match_data_);
  auto* limits = static_cast<pcre2_match_context*>(workspace.limits_);
  while (from < text.size()) {
    if (workspace.budget) workspace.budget->spend();
    const auto last = character_start(text, from + positions_at_once);
    pcre2_set_offset_limit(limits, last);
    const int found = pcre2_match(code_->code, units(text), text.size(), from, PCRE2_NO_UTF_CHECK, data, limits);
    if (found == PCRE2_ERROR_NOMATCH) {
      from = last;
      continue;
    }
    if (found < 0)
      fail(where_, "a split pattern that can be matched", message_of(found), "the pattern needs too many steps");
    const auto* bounds = pcre2_get_ovector_pointer(data);
    match = {bounds[0], bounds[1]};
    if (match.end > match.start && match.start >= from) return true;
    if (match.end >= text.size()) return false;
    const auto at = std::max(match.end, from);
    from = at + std::max<size_t>(1, first_code_point(text.substr(at)).bytes);
  }
  return false;
}

}  // namespace fwl
