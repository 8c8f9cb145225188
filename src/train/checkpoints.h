// The checkpoints of a run: single files that appear whole or not at all; the last few are kept.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "weights/tensor_reader.h"

namespace fwl {

class Checkpoints {
 public:
  Checkpoints(std::string folder, int64_t keep);

  // Throws UserError that names the previous checkpoint where writing fails.
  void save(int64_t step, const TensorMap& tensors, const nlohmann::json& notes);
  std::optional<std::string> latest() const;  // its path

 private:
  std::vector<std::string> sorted() const;

  std::string folder_;
  int64_t keep_;
};

// The notes of a checkpoint that was opened.
nlohmann::json checkpoint_notes(const TensorReader& reader);

}  // namespace fwl
