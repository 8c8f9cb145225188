// A named, described and bounded value that is stored in an options struct and set from text or JSON.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fwl {

struct Field {
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*, std::vector<int64_t>*>;

  std::string name;  // "segment_tokens", or "model.layers" for a key in a TOML table
  Target target;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> allowed;  // empty: any string
  bool is_required = false;
  bool is_positional = false;
  std::string short_flag;                // "p" for -p
  std::vector<std::string> aliases;      // "ctx_size" for --ctx-size: other names for the flag, not for TOML
  const std::string* chooser = nullptr;  // if set, the field counts only while this string equals `choice`
  std::string choice;
  enum class FileUse { none, read, read_as_text, written } file_use = FileUse::none;
  bool may_be_unused = false;  // may be set while it does not count
  std::string set_by;          // the source that set it; empty: still the default

  Field& range(double lowest, double highest);
  Field& at_least(double lowest);
  Field& choices(std::vector<std::string> values);
  Field& required();
  Field& positional();
  Field& short_name(std::string letter);
  Field& alias(std::string other_name);
  Field& reads_file();   // it names a file, or a folder of a model, adapter or run, that is read,
  Field& reads_texts();  // or text files and folders with text files,
  Field& writes_file();  // or a file that is written

  bool counts() const { return !chooser || *chooser == choice; }
  bool is_boolean() const { return std::holds_alternative<bool*>(target); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  std::string flag() const;                // "--segment-tokens"
  std::vector<std::string> flags() const;  // that, the aliases, and "-n"
  std::string type_name() const;           // "INT", "FLOAT", "TEXT", …, with bounds or choices
  std::string default_text() const;        // the target's current value
  std::vector<std::string> texts() const;  // the same, of texts and lists of texts

  // Each throws a UserError that names `where`, the field, what it accepts and what it got.
  void set_text(std::string_view where, const std::string& text);  // lists: comma separated
  void set_texts(std::string_view where, const std::vector<std::string>& texts);
  void set_json(std::string_view where, const nlohmann::json& value);
  void check(std::string_view where) const;  // bounds and choices
  nlohmann::json to_json() const;
};

}  // namespace fwl
