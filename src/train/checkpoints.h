// The checkpoints of a run: one file each, replaced atomically; keeps the last few.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "weights/tensor_reader.h"

namespace fwl {

class Checkpoints {
 public:
  Checkpoints(std::string folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

  void prepare();  // makes the folder, and removes what a killed run has left

  // If writing fails, throws a UserError that names the previous checkpoint.
  void save(int64_t step, const TensorMap& tensors, const nlohmann::json& notes);
  std::optional<std::string> latest() const;  // its path
  std::optional<int64_t> latest_step() const;
  std::string path_of(int64_t step) const;

 private:
  std::vector<std::string> sorted() const;

  std::string folder_;
  int64_t keep_;
};

// The metadata of an opened checkpoint.
nlohmann::json checkpoint_notes(const TensorReader& reader);

}  // namespace fwl
