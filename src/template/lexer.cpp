#include "template/lexer.h"

#include <fmt/format.h>

#include "template/source.h"
#include "template/tag_lexer.h"

namespace fwl {
namespace {

// Normalizes line ends and drops the last one of the template, as Jinja2 does.
std::string with_plain_line_ends(std::string_view source) {
  std::string result;
  for (size_t i = 0; i < source.size(); ++i) {
    const bool is_return = source[i] == '\r';
    if (is_return && i + 1 < source.size() && source[i + 1] == '\n') continue;
    result += is_return ? '\n' : source[i];
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

// The number of bytes before the next {{, {% or {#.
size_t bytes_before_tag(std::string_view text) {
  for (size_t i = 0; (i = text.find('{', i)) != std::string_view::npos; ++i)
    if (i + 1 < text.size() && std::string_view("{%#").find(text[i + 1]) != std::string_view::npos) return i;
  return text.size();
}

// Whether `text` starts with a tag {% of this name.
bool is_tag_named(std::string_view text, std::string_view name) {
  text.remove_prefix(2);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  text = strip_text(text, TextEnd::start);
  if (!text.starts_with(name)) return false;
  text = strip_text(text.substr(name.size()), TextEnd::start);
  return text.starts_with("%}") || text.starts_with("-%}") || (text.starts_with("+%}") && name == "endraw");
}

class TemplateLexer {
 public:
  TemplateLexer(std::string_view where, std::string_view source) : source_(where, source) {}

  std::vector<TemplateToken> cut() {
    while (!source_.is_at_end()) cut_text_and_tag();
    add(TemplateToken::Kind::end, "");
    return std::move(tokens_);
  }

 private:
  void add(TemplateToken::Kind kind, std::string_view text) {
    tokens_.push_back({kind, source_.line(), std::string(text)});
  }

  void cut_text_and_tag() {
    const auto text = source_.rest().substr(0, bytes_before_tag(source_.rest()));
    if (text.size() == source_.rest().size()) {
      add(TemplateToken::Kind::text, text);
      source_.take(text.size());
      return;
    }
    const auto tag = source_.rest().substr(text.size());
    if (is_tag_named(tag, "raw") && tag[1] == '%') return cut_raw_text(text.size());
    take_text_before_tag(text.size());
    if (tag[1] == '#') {
      const auto end = source_.rest().find("#}");
      if (end == std::string_view::npos) source_.fail("#} after {#", "the end of the template");
      const bool has_sign = end > 0 && (source_.rest()[end - 1] == '-' || source_.rest()[end - 1] == '+');
      source_.take(has_sign ? end - 1 : end);
      close_tag("#}");
    } else if (tag[1] == '{') {
      add(TemplateToken::Kind::output_begin, "{{");
      lex_template_tag(source_, "}}", tokens_);
      add(TemplateToken::Kind::output_end, "}}");
      close_tag("}}");
    } else {
      add(TemplateToken::Kind::tag_begin, "{%");
      lex_template_tag(source_, "%}", tokens_);
      add(TemplateToken::Kind::tag_end, "%}");
      close_tag("%}");
    }
  }

  // Adds the text, without the white space that the next tag strips, and moves past the start of the tag.
  void take_text_before_tag(size_t bytes) {
    auto text = source_.rest().substr(0, bytes);
    const auto tag = source_.rest().substr(bytes, 3);
    const char sign = tag.size() == 3 ? tag[2] : ' ';
    if (sign == '-') {
      text = strip_text(text, TextEnd::end);
    } else if (sign != '+' && tag[1] != '{') {
      const auto line_start = text.rfind('\n') + 1;  // 0 if there is none
      const bool is_tag_first = strip_text(text.substr(line_start), TextEnd::start).empty();
      if ((line_start > 0 || is_line_start_) && is_tag_first) text = text.substr(0, line_start);
    }
    if (!text.empty()) add(TemplateToken::Kind::text, text);
    source_.take(bytes + (sign == '-' || sign == '+' ? 3 : 2));
  }

  // Moves past the end of the tag and the white space that it strips.
  void close_tag(std::string_view close, bool takes_line_end = true) {
    const bool takes_all = source_.starts("-"), takes_none = source_.starts("+");
    source_.take(close.size() + (takes_all || takes_none ? 1 : 0));
    if (takes_all)
      source_.take_space();
    else if (takes_line_end && !takes_none && close != "}}" && source_.starts("\n"))
      source_.take(1);
    is_line_start_ = source_.before() == '\n';
  }

  void take_name_and_close(std::string_view name, bool takes_line_end) {
    source_.take_space();
    source_.take(name.size());
    source_.take_space();
    close_tag("%}", takes_line_end);
  }

  // Adds the text before {% raw %}, and the text up to {% endraw %}.
  void cut_raw_text(size_t bytes_before) {
    take_text_before_tag(bytes_before);
    take_name_and_close("raw", false);
    const auto rest = source_.rest();
    for (size_t end = 0; (end = rest.find("{%", end)) != std::string_view::npos; ++end) {
      if (!is_tag_named(rest.substr(end), "endraw")) continue;
      take_text_before_tag(end);
      return take_name_and_close("endraw", true);
    }
    source_.fail("{% endraw %} after {% raw %}", "the end of the template");
  }

  TemplateSource source_;
  bool is_line_start_ = true;
  std::vector<TemplateToken> tokens_;
};

}  // namespace

std::vector<TemplateToken> cut_template(std::string_view where, std::string_view source) {
  constexpr auto most = TemplateLimits::source_bytes;
  if (source.size() > most)
    fail_in_template(where, 1, fmt::format("a template of at most {} bytes", most), fmt::format("{}", source.size()));
  const auto plain = with_plain_line_ends(source);
  return TemplateLexer(where, plain).cut();
}

}  // namespace fwl
