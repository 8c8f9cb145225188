// JSON as text for clients: bytes that are not UTF-8 become replacement characters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fwl {

std::string json_text(const nlohmann::json& json);

}  // namespace fwl
