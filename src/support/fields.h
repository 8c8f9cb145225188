// One list of fields per config, from which flags, TOML keys, JSON, help texts and bounds are derived.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/field.h"

namespace fwl {

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

  // Adds fields that count only while `chooser`, a text of this list, is `choice`. Several choices may have a field of
  // the same name: setting it sets all of them.
  // `may_be_unused`: a config may hold settings for several choices.
  void add_choice(const Field& chooser, const std::string& choice, const Fields& own, bool may_be_unused = false);

  // One field per name, for flags and help; where only some choices have it, the help says which.
  std::vector<Field> shown() const;
  std::vector<std::string> names() const;

  // Both throw a UserError that names `where`, the field, what it accepts and what it got.
  void set_text(std::string_view where, std::string_view name, const std::string& value);  // lists: comma separated
  void set_texts(std::string_view where, std::string_view name, const std::vector<std::string>& values);
  void set_json(std::string_view where, const nlohmann::json& object);  // nested or dotted keys
  void load_toml(const std::string& where, std::string_view text);
  nlohmann::json to_json() const;  // the fields that count, nested by the dots in names
  std::string to_toml() const;     // the same, as load_toml reads it

  // Checks bounds and choices of every field that counts, and that no other was set; called after all sources have been
  // read.
  void check(std::string_view where) const;

 private:
  std::vector<Field*> find_or_fail(std::string_view where, std::string_view name);
  std::vector<std::string> choices_with(std::string_view name) const;
  const Field* chooser_of(const Field& field) const;  // the field whose text decides whether this one counts
  void check_is_default(const Field& field) const;
  std::deque<Field> fields_;  // a deque, so that references from add() stay valid
};

}  // namespace fwl
