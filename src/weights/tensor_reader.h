// Reads tensors from an untrusted file: each is taken by name, shape and type, and none may be left over.
#pragma once

#include <string>
#include <vector>

#include "weights/tensor_files.h"

namespace fwl {

class TensorReader {
 public:
  // `content` says in errors what the file should hold, e.g. "a fast-weight state". Checks the file's checksum.
  TensorReader(const std::string& path, std::string content);
  // Of a file that was checked already.
  TensorReader(const SafetensorsFile& file, std::string content);

  const std::string& path() const { return path_; }
  const TextMap& metadata() const { return metadata_; }

  const TensorMap& left() const { return tensors_; }  // not taken yet
  bool has(const std::string& name) const { return tensors_.contains(name); }
  at::Tensor take(const std::string& name, at::IntArrayRef shape, at::ScalarType type);
  at::Tensor take_finite(const std::string& name, at::IntArrayRef shape, at::ScalarType type);
  std::vector<int64_t> take_numbers(const std::string& name, int64_t count);  // integers >= 0
  int64_t take_number(const std::string& name) { return take_numbers(name, 1)[0]; }
  void expect_nothing_else() const;

 private:
  std::string path_, content_;
  TextMap metadata_;
  TensorMap tensors_;
};

at::Tensor numbers_tensor(const std::vector<int64_t>& numbers);  // the inverse, for writing

}  // namespace fwl
