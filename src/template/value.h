// The values of templates. All but namespaces are immutable, so copies share their content.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "template/meter.h"
#include "tokenizer/marked_text.h"

namespace fwl {

struct TemplateUndefined {};
struct TemplateNone {};
struct TemplateList;
struct TemplateDict;
struct TemplateNamespace;
struct TemplateMacro;
enum class TemplateFunction { range, strftime_now, new_namespace, dict, raise_exception };

using TemplateValue =
    std::variant<TemplateUndefined, TemplateNone, bool, int64_t, double, std::shared_ptr<const MarkedText>,
                 std::shared_ptr<const TemplateList>, std::shared_ptr<const TemplateDict>, TemplateNamespace*,
                 const TemplateMacro*, TemplateFunction>;
using TemplateValues = std::vector<TemplateValue>;

struct TemplateList {
  TemplateValues items;
  bool is_tuple = false;
  int depth = 1;
};

struct TemplateDict {
  std::vector<std::pair<std::string, TemplateValue>> entries;  // in insertion order
  int depth = 1;

  const TemplateValue* find(std::string_view key) const;
};

// Owned by the renderer, because namespaces can refer to each other.
struct TemplateNamespace {
  std::map<std::string, TemplateValue, std::less<>> members;
};

// Strings know which parts of them are the template's own markup, and which come from messages.
TemplateValue text_value(MarkedText text);
TemplateValue list_value(const TemplateMeter& meter, TemplateValues items, bool is_tuple = false);
// If keys repeat, the last one wins.
TemplateValue dict_value(TemplateMeter& meter, const std::vector<std::pair<std::string, TemplateValue>>& entries);

// Null if the value is of another kind.
const std::string* text_in(const TemplateValue& value);
const MarkedText* marked_in(const TemplateValue& value);
const TemplateList* list_in(const TemplateValue& value);
const TemplateDict* dict_in(const TemplateValue& value);
std::optional<int64_t> integer_in(const TemplateValue& value);  // true and false count as 1 and 0
std::optional<double> number_in(const TemplateValue& value);
bool is_undefined(const TemplateValue& value);
bool is_none(const TemplateValue& value);

std::string kind_of(const TemplateValue& value);  // for errors
bool is_true(const TemplateValue& value);
bool are_equal(TemplateMeter& meter, const TemplateValue& left, const TemplateValue& right);

// What a loop iterates over: the items of a list, the keys of a dict, the characters of a string, nothing for
// undefined.
TemplateValues items_of(TemplateMeter& meter, const TemplateValue& value);

}  // namespace fwl
