#include "files/self_checksum.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/error.h"
#include "support/json.h"
#include "support/sha256.h"

namespace fwl {
namespace {

std::string checksum_around(std::string_view bytes, size_t position) {
  Sha256 hash;
  hash.update(bytes.substr(0, position));
  hash.update(blank_checksum);
  hash.update(bytes.substr(position + blank_checksum.size()));
  return to_hex(hash.finish());
}

}  // namespace

void expect_self_checksum(std::string_view where, std::string_view content, std::string_view bytes,
                          const std::string& found) {
  if (found.empty())
    fail(where, fmt::format("{} with its checksum", content), "one without",
         "made by an older version of fwl, or by another program");
  const auto position = found.size() == blank_checksum.size() ? bytes.find(found) : std::string_view::npos;
  if (position == std::string_view::npos || checksum_around(bytes, position) != found)
    fail(where, fmt::format("{} as it was written", content), "other bytes (wrong checksum)",
         "the file is damaged or was edited");
}

std::string checked_json_text(nlohmann::json object) {
  object[checksum_key] = blank_checksum;
  auto text = object.dump(2) + "\n";
  const auto position = text.find(blank_checksum);
  return text.replace(position, blank_checksum.size(), checksum_around(text, position));
}

nlohmann::json parse_checked_json(const std::string& where, std::string_view content, std::string_view text) {
  auto object = parse_json(where, text);
  const auto found = object.is_object() ? object.find(checksum_key) : object.end();
  expect_self_checksum(where, content, text,
                       found != object.end() && found->is_string() ? found->get<std::string>() : std::string());
  object.erase(checksum_key);
  return object;
}

}  // namespace fwl
