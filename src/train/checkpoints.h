// The checkpoints of a run: one file each, replaced atomically; keeps the last few.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "weights/tensor_reader.h"

namespace fwl {

class Checkpoints {
 public:
  Checkpoints(std::string folder, int64_t keep);

  // If writing fails, throws a UserError that names the previous checkpoint.
  void save(int64_t step, const TensorMap& tensors, const nlohmann::json& notes);
  std::optional<std::string> latest() const;  // its path

 private:
  std::vector<std::string> sorted() const;

  std::string folder_;
  int64_t keep_;
};

// The metadata of an opened checkpoint.
nlohmann::json checkpoint_notes(const TensorReader& reader);

}  // namespace fwl
