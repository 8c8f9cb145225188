// Reads the settings of a model in a GGUF file, whose keys start with the name of its architecture, and checks them
// before anything is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/gguf.h"

namespace fwl {

class GgufSettings {
 public:
  explicit GgufSettings(const GgufFile& file);

  const std::string& architecture() const { return architecture_; }
  std::string key(const char* name) const;    // "llama.block_count"
  std::string place(const char* name) const;  // the same after the file's name, for errors

  // A whole number from 1 to 2^31 - 1; `otherwise` if it is missing.
  int64_t count(const char* name, std::optional<int64_t> otherwise = std::nullopt) const;
  int64_t count_or_none(const char* name) const;  // as above, and 0 or a missing one means 0
  double number(const char* name, std::optional<double> otherwise = std::nullopt) const;
  std::string text(const char* name, const std::string& otherwise) const;

  // For each layer, whether it sees only the sliding window: stored as such, or as a period of which the last layer
  // sees everything, or that period if the file has neither.
  std::vector<bool> sliding_layers(int64_t layers, int64_t period) const;

 private:
  const GgufFile* file_;
  std::string architecture_;
};

}  // namespace fwl
