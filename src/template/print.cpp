#include "template/print.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <cmath>

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

std::string printed_real(double real, const char* infinity, const char* not_a_number) {
  if (std::isnan(real)) return not_a_number;
  if (std::isinf(real)) return real < 0 ? std::string("-") + infinity : infinity;
  auto text = fmt::format("{}", real);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool is_shown_in_quotes(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return character == ' ';
    default:
      return true;
  }
}

std::string escaped_number(char32_t character) {
  const auto number = static_cast<uint32_t>(character);
  if (number < 0x100) return fmt::format("\\x{:02x}", number);
  return number < 0x10000 ? fmt::format("\\u{:04x}", number) : fmt::format("\\U{:08x}", number);
}

std::string quoted_for_python(std::string_view text) {
  const bool has_only_single = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = has_only_single ? '"' : '\'';
  std::string result(1, quote);
  while (!text.empty()) {
    const auto character = first_code_point(text);
    const auto bytes = text.substr(0, character.bytes ? character.bytes : 1);
    if (bytes[0] == quote || bytes[0] == '\\')
      (result += '\\') += bytes;
    else if (bytes[0] == '\n')
      result += "\\n";
    else if (bytes[0] == '\r')
      result += "\\r";
    else if (bytes[0] == '\t')
      result += "\\t";
    else if (!character.bytes)
      result += escaped_number(static_cast<unsigned char>(bytes[0]));
    else if (is_shown_in_quotes(character.value))
      result += bytes;
    else
      result += escaped_number(character.value);
    text.remove_prefix(bytes.size());
  }
  return result += quote;
}

std::string quoted_for_json(std::string_view text) {
  constexpr std::string_view special = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
  std::string result = "\"";
  for (const char byte : text) {
    if (const auto place = special.find(byte); place != std::string_view::npos)
      (result += '\\') += letters[place];
    else if (static_cast<unsigned char>(byte) < 0x20)
      result += fmt::format("\\u{:04x}", byte);
    else
      result += byte;
  }
  return result += '"';
}

// Writes a value recursively.
class ValuePrinter {
 public:
  enum class Form { python, json };

  ValuePrinter(TemplateMeter& meter, Form form, std::optional<int64_t> indent)
      : meter_(meter), form_(form), indent_(indent) {}

  void print(const TemplateValue& value, int level) {
    if (const auto* list = list_in(value))
      print_list(*list, level);
    else if (const auto* dict = dict_in(value))
      print_dict(*dict, level);
    else if (const auto* text = marked_in(value))
      add_text(*text);
    else
      add(scalar(value));
  }

  MarkedText result;

 private:
  void add(const MarkedText& text) {
    meter_.spend(1 + text.size() / 16);
    result += text;
  }

  void add(std::string text) { add(MarkedText::all_markup(std::move(text))); }

  void add_text(const MarkedText& text) {
    meter_.spend_bytes(2 * text.size());
    add(MarkedText::made_from(text,
                              form_ == Form::json ? quoted_for_json(text.text()) : quoted_for_python(text.text())));
  }

  std::string scalar(const TemplateValue& value) const {
    const bool is_json = form_ == Form::json;
    if (is_none(value)) return is_json ? "null" : "None";
    if (const auto* truth = std::get_if<bool>(&value)) {
      if (is_json) return *truth ? "true" : "false";
      return *truth ? "True" : "False";
    }
    if (const auto* real = std::get_if<double>(&value))
      return is_json ? printed_real(*real, "Infinity", "NaN") : printed_real(*real, "inf", "nan");
    if (const auto integer = integer_in(value)) return fmt::format("{}", *integer);
    if (is_undefined(value) && !is_json) return "Undefined";
    meter_.fail("a value that can be printed", kind_of(value));
  }

  void start_line(int level) {
    if (indent_) add("\n" + std::string(static_cast<size_t>(*indent_) * static_cast<size_t>(level), ' '));
  }

  // Calls `print_item` with the index of each item.
  template <class PrintItem>
  void print_items(const char* open, const char* close, size_t count, int level, PrintItem print_item) {
    add(open);
    for (size_t i = 0; i < count; ++i) {
      if (i) add(indent_ ? "," : ", ");
      start_line(level + 1);
      print_item(i);
    }
    if (count) start_line(level);
    add(close);
  }

  void print_list(const TemplateList& list, int level) {
    const bool is_tuple = list.is_tuple && form_ == Form::python;
    const auto* close = !is_tuple ? "]" : list.items.size() == 1 ? ",)" : ")";
    print_items(is_tuple ? "(" : "[", close, list.items.size(), level,
                [&](size_t i) { print(list.items[i], level + 1); });
  }

  void print_dict(const TemplateDict& dict, int level) {
    print_items("{", "}", dict.entries.size(), level, [&](size_t i) {
      add_text(MarkedText::plain(dict.entries[i].first));
      add(": ");
      print(dict.entries[i].second, level + 1);
    });
  }

  TemplateMeter& meter_;
  Form form_;
  std::optional<int64_t> indent_;
};

}  // namespace

MarkedText printed(TemplateMeter& meter, const TemplateValue& value) {
  if (is_undefined(value)) return {};
  if (const auto* text = marked_in(value)) {
    meter.spend_bytes(text->size());
    return *text;
  }
  ValuePrinter printer(meter, ValuePrinter::Form::python, std::nullopt);
  printer.print(value, 0);
  return std::move(printer.result);
}

MarkedText json_text(TemplateMeter& meter, const TemplateValue& value, std::optional<int64_t> indent) {
  if (indent && (*indent < 0 || *indent > 16)) meter.fail("an indent of 0 to 16", fmt::format("{}", *indent));
  ValuePrinter printer(meter, ValuePrinter::Form::json, indent);
  printer.print(value, 0);
  return std::move(printer.result);
}

}  // namespace fwl
