// One list of fields per config, from which flags, TOML keys, JSON, help texts and bounds are derived.
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

// A named, described and bounded value that is stored in an options struct.
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
  std::string short_flag;  // "p" for -p

  Field& range(double lowest, double highest);
  Field& at_least(double lowest);
  Field& choices(std::vector<std::string> values);
  Field& required();
  Field& positional();
  Field& short_name(std::string letter);

  std::string flag() const;          // "--segment-tokens"
  std::string type_name() const;     // "INT", "FLOAT", "TEXT", …, with bounds or choices
  std::string default_text() const;  // the target's current value
};

class Fields {
 public:
  // Binds a field to `target`, whose current value is the default. The target must outlive the list.
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

  // Both throw a UserError that names `where`, the field, what it accepts and what it got.
  void set_text(std::string_view where, std::string_view name, const std::string& value);  // lists: comma separated
  void set_json(std::string_view where, const nlohmann::json& object);                     // nested or dotted keys
  void load_toml(const std::string& path);
  nlohmann::json to_json() const;  // nested by the dots in names

  // Checks bounds and choices of every field; called after all sources have been read.
  void check(std::string_view where) const;

 private:
  Field& find_or_fail(std::string_view where, std::string_view name);
  std::deque<Field> fields_;  // a deque, so that references from add() stay valid
};

}  // namespace fwl
