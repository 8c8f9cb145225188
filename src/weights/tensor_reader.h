// Reads tensors from a file that nobody vouches for: each is taken by name, shape and type, and nothing may be left.
#pragma once

#include <string>
#include <vector>

#include "weights/tensor_files.h"

namespace fwl {

class TensorReader {
 public:
  // `content` names what the file should hold, for errors: "a fast-weight state". A checksum in it must be right.
  TensorReader(const std::string& path, std::string content);

  const std::string& path() const { return path_; }
  const TextMap& metadata() const { return metadata_; }

  const TensorMap& left() const { return tensors_; }  // what has not been taken yet
  bool has(const std::string& name) const { return tensors_.contains(name); }
  at::Tensor take(const std::string& name, at::IntArrayRef shape, at::ScalarType type);
  at::Tensor take_finite(const std::string& name, at::IntArrayRef shape, at::ScalarType type);
  std::vector<int64_t> take_numbers(const std::string& name, int64_t count);  // whole numbers >= 0
  int64_t take_number(const std::string& name) { return take_numbers(name, 1)[0]; }
  void expect_nothing_else() const;

 private:
  std::string path_, content_;
  TextMap metadata_;
  TensorMap tensors_;
};

at::Tensor numbers_tensor(const std::vector<int64_t>& numbers);  // the other way round, for writing

}  // namespace fwl
