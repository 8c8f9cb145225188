#include "tokenizer/space_marks.h"

#include <fmt/format.h>

#include "support/error.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

using Json = nlohmann::json;

std::string from_base64(const std::string& where, std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    const auto digit = digits.find(letter);
    if (digit == std::string_view::npos) fail(where, "base64", fmt::format("'{}'", letter), "the file is damaged");
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xFFFFFF;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count);
  }
  return bytes;
}

// Calls visit(type, part) for a step, or for every step of a sequence.
template <class Visit>
void for_each_step(const std::string& where, const Json& node, const char* list, Visit visit, int depth = 0) {
  if (node.is_null()) return;
  const auto type = json_field<std::string>(where, node, "type");
  if (type != "Sequence") return visit(type, node);
  const auto& parts = json_member(where, node, list);
  if (!parts.is_array() || parts.size() > 16 || depth > 4) fail(where, "a list of up to 16 steps", parts.type_name());
  for (const auto& part : parts) for_each_step(where, part, list, visit, depth + 1);
}

std::string pattern_of(const std::string& where, const Json& step, const char* kind) {
  const auto& pattern = json_member(where, step, "pattern");
  return pattern.is_object() && pattern.contains(kind) ? json_field<std::string>(where, pattern, kind) : "";
}

void read_normalizer(const std::string& where, const Json& node, SpaceMarks& marks) {
  for_each_step(where, node, "normalizers", [&](const std::string& type, const Json& step) {
    if (type == "Prepend" && json_field<std::string>(where, step, "prepend") == space_mark) {
      marks.before = SpaceMarks::Before::every_part;
    } else if (type == "Replace" && pattern_of(where, step, "String") == " " &&
               json_field<std::string>(where, step, "content") == space_mark) {
      marks.replaces_spaces = true;
    } else if (type == "Replace" && pattern_of(where, step, "Regex") == " {2,}") {
      marks.removes_runs = true;
    } else if (type == "Precompiled") {
      marks.character_table =
          from_base64(where, json_field<std::string>(where, step, "precompiled_charsmap", std::string()));
    } else {
      fail(where, "steps that mark spaces, or a table of characters", type, "this normalization is not supported");
    }
  });
}

void read_metaspace(const std::string& where, const Json& step, SpaceMarks& marks) {
  if (json_field<std::string>(where, step, "replacement", std::string(space_mark)) != space_mark)
    fail(where + ": replacement", "U+2581", "another character");
  const bool adds = json_field<bool>(where, step, "add_prefix_space", true);
  const auto scheme = json_field<std::string>(where, step, "prepend_scheme", adds ? "always" : "never");
  marks.replaces_spaces = true;
  marks.splits = json_field<bool>(where, step, "split", true);
  if (scheme == "first")
    marks.before = SpaceMarks::Before::text;
  else if (scheme == "always")
    marks.before = SpaceMarks::Before::part;
  else if (scheme != "never")
    fail(where + ": prepend_scheme", "first, always or never", "'" + scheme + "'");
}

void read_pre_tokenizer(const std::string& where, const Json& node, SpaceMarks& marks) {
  for_each_step(where, node, "pretokenizers", [&](const std::string& type, const Json& step) {
    if (type == "Metaspace") return read_metaspace(where, step, marks);
    if (type == "WhitespaceSplit") {
      marks.removes_runs = true;
      return;
    }
    // After spaces became marks, a split at spaces finds none.
    if (type == "Split" && marks.replaces_spaces && pattern_of(where, step, "String") == " ") return;
    fail(where, "Metaspace", type, "this pre-tokenizer is not supported for SentencePiece vocabularies");
  });
}

void read_decoder(const std::string& where, const Json& node, SpaceMarks& marks) {
  for_each_step(where, node, "decoders", [&](const std::string& type, const Json& step) {
    if (type == "Strip" && json_field<double>(where, step, "start", 0.0) > 0) marks.strips_decoded = true;
    if (type == "Metaspace")
      marks.strips_decoded = json_field<std::string>(where, step, "prepend_scheme", "always") != "never";
  });
}

}  // namespace

SpaceMarks parse_space_marks(const std::string& where, const Json& root) {
  SpaceMarks marks;
  read_normalizer(where + ": normalizer", json_or_null(root, "normalizer"), marks);
  read_pre_tokenizer(where + ": pre_tokenizer", json_or_null(root, "pre_tokenizer"), marks);
  read_decoder(where + ": decoder", json_or_null(root, "decoder"), marks);
  return marks;
}

std::string SpaceMarks::marked(std::string_view part, bool is_first) const {
  std::string text;
  const bool has_mark = part.starts_with(space_mark) || (replaces_spaces && part.starts_with(' '));
  const bool wants_mark = before == Before::part || (before == Before::text && is_first);
  if (before == Before::every_part || (wants_mark && !has_mark)) text += space_mark;
  for (const char letter : part) {
    if (letter == ' ' && replaces_spaces)
      text += space_mark;
    else
      text += letter;
  }
  return text;
}

}  // namespace fwl
