// Weights of published models, from GGUF files and Hugging Face folders; every tensor is checked.
#pragma once

#include <functional>
#include <memory>

#include "files/gguf.h"
#include "files/huggingface_folder.h"
#include "weights/weight_source.h"

namespace fwl {

// `quantized` multiplies with the mapped blocks of the file: least memory, fastest generation. `fp32` dequantises
// everything: fastest scoring of short segments, and required for training. `automatic` is fp32 for models that take at
// most 640 MB that way, and quantised for larger ones.
enum class WeightFormat { quantized, fp32, automatic };

WeightFormat weight_format_from_name(const std::string& name);

// Maps a weight's name to the tensor's name in the file.
using FileName = std::function<std::string(const std::string&)>;

class GgufWeights : public WeightSource {
 public:
  GgufWeights(std::shared_ptr<const GgufFile> file, WeightFormat format, FileName file_name);

  bool has(const std::string& name) const override;
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) override;
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) override;

 private:
  const GgufTensor& find(const std::string& name, at::IntArrayRef shape) const;

  std::shared_ptr<const GgufFile> file_;
  WeightFormat format_;
  FileName file_name_;
  bool is_checked_;  // all of its numbers are known to be finite
};

class FolderWeights : public WeightSource {
 public:
  // Without `file_name`, tensors have the names of their weights.
  FolderWeights(std::shared_ptr<const HuggingFaceFolder> folder, WeightFormat format, FileName file_name = {});

  bool has(const std::string& name) const override;
  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, const Initial& initial) override;
  Matrix matrix(const std::string& name, int64_t rows, int64_t columns, const Initial& initial) override;

 private:
  std::string in_file(const std::string& name) const { return file_name_ ? file_name_(name) : name; }
  const TensorView& find(const std::string& name, at::IntArrayRef shape) const;

  std::shared_ptr<const HuggingFaceFolder> folder_;
  WeightFormat format_;
  FileName file_name_;
};

}  // namespace fwl
