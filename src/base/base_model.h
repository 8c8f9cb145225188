// A base language model: token ids and what was read before them, to hidden states.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "head/head.h"
#include "weights/parameter_list.h"

namespace fwl {

// What a base model remembers of B texts that it reads in step. Reading changes it in place, so it moves but does not
// copy by accident.
struct BaseState {
  int64_t sequences = 1;            // B
  int64_t tokens_read = 0;          // of each text
  int64_t kept_tokens = 0;          // how many of the last of them `memory` holds
  int64_t window_start = 0;         // the position at which the model's own counting of positions starts
  std::vector<at::Tensor> memory;   // per layer what the architecture keeps; may have room for more than kept_tokens
  at::Tensor recent;                // B,n: the last token ids, where a window must be read again
  std::vector<at::Tensor> derived;  // what follows from the weights alone and is kept to save time; never saved

  BaseState() = default;
  BaseState(BaseState&&) = default;
  BaseState& operator=(BaseState&&) = default;
  BaseState clone() const;
  size_t bytes() const;

 private:
  BaseState(const BaseState&) = default;
};

class BaseModel {
 public:
  virtual ~BaseModel() = default;

  virtual std::string architecture() const = 0;
  virtual int64_t width() const = 0;  // D
  virtual int64_t vocabulary_size() const = 0;
  virtual NamedTensors parameters() const = 0;            // dense ones, under their published names
  virtual const WeightCounts& weight_counts() const = 0;  // of all, quantised or dense
  virtual std::shared_ptr<const Head> head() const = 0;

  virtual BaseState new_state(int64_t sequences) const = 0;

  // A copy with nothing but what is needed to go on, and the shapes that its memory must then have: what is saved, and
  // what a saved state is checked against.
  virtual BaseState trimmed(const BaseState& state) const = 0;
  virtual std::vector<std::vector<int64_t>> memory_shapes(const BaseState& trimmed) const = 0;

  // Products per token besides those with the parameters, for segments of T tokens: scores and what they weigh.
  virtual double attention_flops(int64_t segment_tokens) const = 0;

  // Reads tokens (B,T) and moves the state past them. -> B,T,D, ready for the head
  at::Tensor read(const at::Tensor& tokens, BaseState& state) const;

  // Dropout acts only in training.
  void set_training(bool is_training) { is_training_ = is_training; }
  bool is_training() const { return is_training_; }

 protected:
  virtual at::Tensor read_checked(const at::Tensor& tokens, BaseState& state) const = 0;

 private:
  bool is_training_ = false;
};

}  // namespace fwl
