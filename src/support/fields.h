// One list of fields per config: the same list gives the flags, the TOML keys, the JSON and the help, with bounds.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fwl {

// A named, described and bounded value that lives in somebody's option struct.
struct Field {
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*, std::vector<int64_t>*>;

  std::string name;  // "segment_tokens", or "model.layers" for a key in a TOML table
  Target target;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> allowed;  // empty: any text
  bool is_required = false;
  bool is_positional = false;
  std::string short_flag;            // "p" for -p
  std::vector<std::string> aliases;  // "ctx_size" for --ctx-size: other names for the flag, not for TOML

  Field& range(double lowest, double highest);
  Field& at_least(double lowest);
  Field& choices(std::vector<std::string> values);
  Field& required();
  Field& positional();
  Field& short_name(std::string letter);
  Field& alias(std::string other_name);

  bool is_boolean() const { return std::holds_alternative<bool*>(target); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  std::string flag() const;                // "--segment-tokens"
  std::vector<std::string> flags() const;  // that, the aliases, and "-n"
  std::string type_name() const;           // "INT", "FLOAT", "TEXT", …, with bounds or choices
  std::string default_text() const;        // the target's present value
};

class Fields {
 public:
  // Binds a field to `target`, whose present value is the default. The target must outlive the list.
  template <class T>
  Field& add(std::string name, T& target, std::string help) {
    Field field;
    field.name = std::move(name);
    field.target = &target;
    field.help = std::move(help);
    return fields_.emplace_back(std::move(field));
  }

  Field* find(std::string_view name);
  std::vector<std::string> names() const;

  auto begin() { return fields_.begin(); }
  auto end() { return fields_.end(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

  // Each throws UserError that names `where`, the field, what it accepts and what came.
  void set_text(std::string_view where, std::string_view name, const std::string& value);  // lists: comma separated
  void set_json(std::string_view where, const nlohmann::json& object);                     // nested or dotted keys
  void load_toml(const std::string& path);
  nlohmann::json to_json() const;  // nested by the dots in names
  std::string to_toml() const;     // what load_toml reads

  // Checks bounds and choices of every field; called after all sources have been read.
  void check(std::string_view where) const;

 private:
  Field& find_or_fail(std::string_view where, std::string_view name);
  std::deque<Field> fields_;  // a deque, so that references from add() stay valid
};

}  // namespace fwl
