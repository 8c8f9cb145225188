#include "template/tag_lexer.h"

#include <fmt/format.h>

#include "support/printable.h"
#include "tokenizer/utf8.h"

namespace fwl {
namespace {

bool is_name_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

bool is_tag_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

size_t digits_at(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_tag_digit(text[end])) ++end;
  return end;
}

int hex_digit(char byte) {
  if (is_tag_digit(byte)) return byte - '0';
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class TemplateTagLexer {
 public:
  TemplateTagLexer(TemplateSource& source, std::vector<TemplateToken>& tokens) : source_(source), tokens_(tokens) {}

  void lex_until(std::string_view close) {
    while (true) {
      source_.take_space();
      if (source_.is_at_end()) source_.fail(fmt::format("{} at the end of the tag", close), "the end of the template");
      if (open_brackets_.empty() && source_.is_at_close(close)) return;
      const char byte = source_.rest()[0];
      if (is_tag_digit(byte))
        lex_number();
      else if (is_name_letter(byte))
        lex_name();
      else if (byte == '\'' || byte == '"')
        lex_string();
      else
        lex_symbol();
    }
  }

 private:
  void add(TemplateToken::Kind kind, size_t bytes) {
    const auto line = source_.line();
    tokens_.push_back({kind, line, std::string(source_.take(bytes))});
  }

  void lex_name() {
    const auto rest = source_.rest();
    size_t end = 0;
    while (end < rest.size() && (is_name_letter(rest[end]) || is_tag_digit(rest[end]))) ++end;
    add(TemplateToken::Kind::name, end);
  }

  void lex_number() {
    const auto rest = source_.rest();
    const auto whole = digits_at(rest);
    auto end = whole;
    if (source_.before() != '.') {  // in a.0.1 the numbers are members
      if (rest.substr(end).starts_with('.')) {
        const auto digits = digits_at(rest.substr(end + 1));
        if (digits) end += 1 + digits;
      }
      if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
        const auto power = rest.substr(end + 1);
        const size_t sign = power.starts_with('-') || power.starts_with('+') ? 1 : 0;
        const auto digits = digits_at(power.substr(sign));
        if (digits) end += 1 + sign + digits;
      }
    }
    add(end > whole ? TemplateToken::Kind::real : TemplateToken::Kind::integer, end);
  }

  void lex_string() {
    const auto rest = source_.rest();
    size_t end = 1;
    while (end < rest.size() && rest[end] != rest[0]) end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size()) source_.fail("a closing quote", "the end of the template");
    tokens_.push_back({TemplateToken::Kind::string, source_.line(), unescaped(rest.substr(1, end - 1))});
    source_.take(end + 1);
  }

  // Python's escapes; an unknown one stays as it is.
  std::string unescaped(std::string_view text) const {
    constexpr std::string_view letters = "ntr\\'\"abfv", meanings = "\n\t\r\\'\"\a\b\f\v";
    std::string result;
    while (!text.empty()) {
      if (text[0] != '\\') {
        const auto plain = std::min(text.find('\\'), text.size());
        result += text.substr(0, plain);
        text.remove_prefix(plain);
        continue;
      }
      const char letter = text[1];  // exists, because the closing quote comes later
      text.remove_prefix(2);
      if (const auto place = letters.find(letter); place != std::string_view::npos)
        result += meanings[place];
      else if (letter == 'x' || letter == 'u' || letter == 'U')
        append_character(text, letter == 'x' ? 2 : letter == 'u' ? 4 : 8, result);
      else if (letter >= '0' && letter <= '7')
        source_.fail("an escape like \\n or \\u00e9", fmt::format("\\{}", letter));
      else if (letter == 'N')
        source_.fail("an escape like \\n or \\u00e9", "\\N");
      else if (letter != '\n')
        (result += '\\') += letter;
    }
    return result;
  }

  void append_character(std::string_view& text, size_t digits, std::string& result) const {
    uint32_t value = 0;
    bool is_number = text.size() >= digits;
    for (size_t i = 0; is_number && i < digits; ++i) {
      const auto digit = hex_digit(text[i]);
      is_number = digit >= 0;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    if (!is_number || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      source_.fail("an escape of a valid character", "'\\" + printable(text.substr(0, digits)) + "'");
    append_utf8(value, result);
    text.remove_prefix(digits);
  }

  void lex_symbol() {
    for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="})
      if (source_.starts(two)) return add(TemplateToken::Kind::symbol, 2);
    constexpr std::string_view opening = "([{", closing = ")]}";
    const char byte = source_.rest()[0];
    if (std::string_view("+-/*%~[](){}><=.:|,").find(byte) == std::string_view::npos)
      source_.fail("a name, a number, a string or an operator", "'" + printable(source_.rest().substr(0, 1)) + "'");
    if (const auto place = opening.find(byte); place != std::string_view::npos) open_brackets_ += closing[place];
    if (closing.find(byte) != std::string_view::npos) {
      if (open_brackets_.empty()) source_.fail("a matching opening bracket", fmt::format("'{}'", byte));
      if (open_brackets_.back() != byte)
        source_.fail(fmt::format("'{}'", open_brackets_.back()), fmt::format("'{}'", byte));
      open_brackets_.pop_back();
    }
    add(TemplateToken::Kind::symbol, 1);
  }

  TemplateSource& source_;
  std::vector<TemplateToken>& tokens_;
  std::string open_brackets_;
};

}  // namespace

void lex_template_tag(TemplateSource& source, std::string_view close, std::vector<TemplateToken>& tokens) {
  TemplateTagLexer(source, tokens).lex_until(close);
}

}  // namespace fwl
