#include "tokenizer/pattern_dialect.h"

#include <fmt/format.h>

#include "support/error.h"

namespace fwl {
namespace {

struct CategoryRange {
  char32_t first, last;
  std::string_view category;
};

// Letters, marks and numbers added in Unicode 15, 15.1 and 16.
// clang-format off
constexpr CategoryRange new_ranges[] = {
    {0x897, 0x897, "Mn"}, {0xCF3, 0xCF3, "Mc"}, {0xECE, 0xECE, "Mn"}, {0x1C89, 0x1C89, "Lu"},
    {0x1C8A, 0x1C8A, "Ll"}, {0xA7CB, 0xA7CC, "Lu"}, {0xA7CD, 0xA7CD, "Ll"}, {0xA7DA, 0xA7DA, "Lu"},
    {0xA7DB, 0xA7DB, "Ll"}, {0xA7DC, 0xA7DC, "Lu"}, {0x105C0, 0x105F3, "Lo"}, {0x10D40, 0x10D49, "Nd"},
    {0x10D4A, 0x10D4D, "Lo"}, {0x10D4E, 0x10D4E, "Lm"}, {0x10D4F, 0x10D4F, "Lo"}, {0x10D50, 0x10D65, "Lu"},
    {0x10D69, 0x10D6D, "Mn"}, {0x10D6F, 0x10D6F, "Lm"}, {0x10D70, 0x10D85, "Ll"}, {0x10EC2, 0x10EC4, "Lo"},
    {0x10EFC, 0x10EFF, "Mn"}, {0x1123F, 0x11240, "Lo"}, {0x11241, 0x11241, "Mn"}, {0x11380, 0x11389, "Lo"},
    {0x1138B, 0x1138B, "Lo"}, {0x1138E, 0x1138E, "Lo"}, {0x11390, 0x113B5, "Lo"}, {0x113B7, 0x113B7, "Lo"},
    {0x113B8, 0x113BA, "Mc"}, {0x113BB, 0x113C0, "Mn"}, {0x113C2, 0x113C2, "Mc"}, {0x113C5, 0x113C5, "Mc"},
    {0x113C7, 0x113CA, "Mc"}, {0x113CC, 0x113CD, "Mc"}, {0x113CE, 0x113CE, "Mn"}, {0x113CF, 0x113CF, "Mc"},
    {0x113D0, 0x113D0, "Mn"}, {0x113D1, 0x113D1, "Lo"}, {0x113D2, 0x113D2, "Mn"}, {0x113D3, 0x113D3, "Lo"},
    {0x113E1, 0x113E2, "Mn"}, {0x116D0, 0x116E3, "Nd"}, {0x11BC0, 0x11BE0, "Lo"}, {0x11BF0, 0x11BF9, "Nd"},
    {0x11F00, 0x11F01, "Mn"}, {0x11F02, 0x11F02, "Lo"}, {0x11F03, 0x11F03, "Mc"}, {0x11F04, 0x11F10, "Lo"},
    {0x11F12, 0x11F33, "Lo"}, {0x11F34, 0x11F35, "Mc"}, {0x11F36, 0x11F3A, "Mn"}, {0x11F3E, 0x11F3F, "Mc"},
    {0x11F40, 0x11F40, "Mn"}, {0x11F41, 0x11F41, "Mc"}, {0x11F42, 0x11F42, "Mn"}, {0x11F50, 0x11F59, "Nd"},
    {0x11F5A, 0x11F5A, "Mn"}, {0x1342F, 0x1342F, "Lo"}, {0x13440, 0x13440, "Mn"}, {0x13441, 0x13446, "Lo"},
    {0x13447, 0x13455, "Mn"}, {0x13460, 0x143FA, "Lo"}, {0x16100, 0x1611D, "Lo"}, {0x1611E, 0x16129, "Mn"},
    {0x1612A, 0x1612C, "Mc"}, {0x1612D, 0x1612F, "Mn"}, {0x16130, 0x16139, "Nd"}, {0x16D40, 0x16D42, "Lm"},
    {0x16D43, 0x16D6A, "Lo"}, {0x16D6B, 0x16D6C, "Lm"}, {0x16D70, 0x16D79, "Nd"}, {0x18CFF, 0x18CFF, "Lo"},
    {0x1B132, 0x1B132, "Lo"}, {0x1B155, 0x1B155, "Lo"}, {0x1CCF0, 0x1CCF9, "Nd"}, {0x1D2C0, 0x1D2D3, "No"},
    {0x1DF25, 0x1DF2A, "Ll"}, {0x1E030, 0x1E06D, "Lm"}, {0x1E08F, 0x1E08F, "Mn"}, {0x1E4D0, 0x1E4EA, "Lo"},
    {0x1E4EB, 0x1E4EB, "Lm"}, {0x1E4EC, 0x1E4EF, "Mn"}, {0x1E4F0, 0x1E4F9, "Nd"}, {0x1E5D0, 0x1E5ED, "Lo"},
    {0x1E5EE, 0x1E5EF, "Mn"}, {0x1E5F0, 0x1E5F0, "Lo"}, {0x1E5F1, 0x1E5FA, "Nd"}, {0x2B739, 0x2B739, "Lo"},
    {0x2EBF0, 0x2EE5D, "Lo"}, {0x31350, 0x323AF, "Lo"},
};
// clang-format on

// The property White_Space, which is \s in the published patterns, and its complement.
constexpr std::string_view white_space =
    R"(\x09-\x0D\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view other_than_white_space =
    R"(\x00-\x08\x0E-\x1F\x21-\x84\x86-\x9F\xA1-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";

std::string additions_to(std::string_view category) {
  std::string ranges;
  for (const auto& range : new_ranges)
    if (range.category.starts_with(category))
      ranges +=
          fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.last));
  return ranges;
}

// Copies a pattern and replaces the escapes that mean something else in PCRE2.
class Translator {
 public:
  Translator(std::string_view where, std::string_view pattern) : where_(where), rest_(pattern) {}

  std::string translate() {
    while (!rest_.empty()) {
      if (rest_[0] == '\\')
        translate_escape();
      else if (is_in_class_)
        translate_class_character();
      else
        enter_class_or_copy();
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view construct) {
    fail(where_, "a split pattern of supported constructs", fmt::format("'{}'", construct),
         "it means something else in PCRE2");
  }

  void copy(size_t count) {
    result_ += rest_.substr(0, count);
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  // A set of characters, given as the inside of a class.
  void add_set(std::string_view inside, bool is_negated, size_t source_bytes) {
    result_ += is_in_class_ ? std::string(inside) : fmt::format("[{}{}]", is_negated ? "^" : "", inside);
    rest_.remove_prefix(source_bytes);
  }

  void translate_escape() {
    const char kind = rest_.size() > 1 ? rest_[1] : '\0';
    if (kind == 's') return add_set(white_space, false, 2);
    if (kind == 'S') return is_in_class_ ? add_set(other_than_white_space, false, 2) : add_set(white_space, true, 2);
    if (kind == 'd') return add_set("\\d" + additions_to("Nd"), false, 2);
    if (kind == 'h' || kind == 'H') refuse(rest_.substr(0, 2));
    if (kind == 'p' || kind == 'P') return translate_property(kind == 'P');
    copy(2);
  }

  void translate_property(bool is_negated) {
    const auto end = rest_.find('}');
    const bool has_name = rest_.size() > 3 && rest_[2] == '{' && end != std::string_view::npos && end > 3;
    const auto additions = has_name ? additions_to(rest_.substr(3, end - 3)) : std::string();
    if (additions.empty()) return copy(2);
    if (is_negated && is_in_class_) refuse(rest_.substr(0, end + 1));
    add_set(fmt::format("\\p{{{}}}{}", rest_.substr(3, end - 3), additions), is_negated, end + 1);
  }

  void translate_class_character() {
    const bool is_posix_name = rest_.starts_with("[:");
    if ((rest_[0] == '[' && !is_posix_name) || rest_.starts_with("&&")) refuse(rest_.substr(0, 2));
    if (is_posix_name) return copy(std::min(rest_.find(":]"), rest_.size() - 2) + 2);
    is_in_class_ = rest_[0] != ']';
    copy(1);
  }

  void enter_class_or_copy() {
    is_in_class_ = rest_[0] == '[';
    copy(1);
    if (!is_in_class_) return;
    if (rest_.starts_with('^')) copy(1);
    if (rest_.starts_with(']')) copy(1);  // a leading bracket is a plain character
  }

  std::string_view where_, rest_;
  std::string result_;
  bool is_in_class_ = false;
};

}  // namespace

std::string pattern_for_pcre2(std::string_view where, std::string_view pattern) {
  return Translator(where, pattern).translate();
}

}  // namespace fwl
