// Reads fields of untrusted JSON; a missing field or a wrong type is a one-line error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace fwl {

// Throws UserError for anything but an object.
nlohmann::json parse_json_object(const std::string& where, std::string_view text);

const nlohmann::json& json_member(const std::string& where, const nlohmann::json& object, const char* name);

const nlohmann::json& json_or_null(const nlohmann::json& object, const char* name);

// For errors: the number itself, or the type of anything else, which may be long.
std::string json_number_or_kind(const nlohmann::json& value);

// For bool, double and std::string. A missing or null field is an error, or gives the default if there is one.
template <class T>
T json_field(const std::string& where, const nlohmann::json& object, const char* name);
template <class T>
T json_field(const std::string& where, const nlohmann::json& object, const char* name, T otherwise);

// "a b" -> a, b: the form of merges in merges.txt, GGUF files and older tokenizer.json files.
std::pair<std::string, std::string> split_merge(const std::string& where, std::string_view merge);

}  // namespace fwl
