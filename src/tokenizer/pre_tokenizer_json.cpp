#include "tokenizer/pre_tokenizer_json.h"

#include <fmt/format.h>

#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

using Json = nlohmann::json;

SplitStep byte_level_step(const std::string& where, const Json& node) {
  SplitStep step;
  if (json_field<bool>(where, node, "use_regex", true)) step = gpt2_step();
  step.adds_space = json_field<bool>(where, node, "add_prefix_space", true);
  return step;
}

SplitStep split_step(const std::string& where, const Json& node) {
  SplitStep step;
  const auto& pattern = json_member(where, node, "pattern");
  step.is_literal = pattern.is_object() && pattern.contains("String");
  step.pattern = json_field<std::string>(where, pattern, step.is_literal ? "String" : "Regex");
  if (step.pattern.empty()) fail(where + ": pattern", "a pattern", "an empty one");
  const auto behavior = json_field<std::string>(where, node, "behavior");
  step.drops_between = behavior == "Removed" && json_field<bool>(where, node, "invert", false);
  if (behavior != "Isolated" && !step.drops_between)
    fail(where + ": behavior", "Isolated, or Removed with invert", behavior, "others would drop or move text");
  return step;
}

// True if the step turned text into bytes, after which no other step may follow.
bool add_step(const std::string& where, const Json& node, std::vector<SplitStep>& steps, int depth) {
  const auto type = json_field<std::string>(where, node, "type");
  if (type == "ByteLevel") {
    steps.push_back(byte_level_step(where, node));
    return true;
  }
  if (type == "Split") {
    steps.push_back(split_step(where, node));
  } else if (type == "Digits") {
    steps.push_back(digits_step(json_field<bool>(where, node, "individual_digits", false)));
  } else if (type == "Sequence" && depth < 4) {
    const auto& parts = json_member(where, node, "pretokenizers");
    if (!parts.is_array() || parts.size() > 16)
      fail(where + ": pretokenizers", "a list of up to 16", parts.type_name());
    bool is_byte_level = false;
    for (const auto& part : parts) {
      if (is_byte_level) fail(where, "ByteLevel as the last step", "a step after it");
      is_byte_level = add_step(where, part, steps, depth + 1);
    }
    return is_byte_level;
  } else {
    fail(where, "ByteLevel, Split, Digits or a Sequence of them", type);
  }
  return false;
}

}  // namespace

std::vector<SplitStep> parse_pre_tokenizer(const std::string& where, const Json& pre_tokenizer) {
  std::vector<SplitStep> steps;
  const bool is_byte_level = !pre_tokenizer.is_null() && add_step(where, pre_tokenizer, steps, 0);
  if (!is_byte_level) fail(where, "a ByteLevel step", "none", "only byte-level BPE is supported");
  const auto& last = steps.back();
  if (steps.size() > 1 && last.pattern.empty() && !last.adds_space) steps.pop_back();  // it does not split
  return steps;
}

bool asks_for_nfc(const std::string& where, const Json& normalizer) {
  if (normalizer.is_null()) return false;
  const auto type = json_field<std::string>(where, normalizer, "type");
  if (type == "NFC") return true;
  if (type != "Sequence") fail(where, "none or NFC", type);
  bool is_nfc = false;
  const auto& parts = json_member(where, normalizer, "normalizers");
  if (!parts.is_array()) fail(where + ": normalizers", "a list", parts.type_name());
  for (const auto& part : parts) {
    const auto part_type = json_field<std::string>(where, part, "type");
    if (part_type != "NFC") fail(where, "none or NFC", part_type);
    is_nfc = true;
  }
  return is_nfc;
}

}  // namespace fwl
