// The kinds of fast weights a model can have, each with its own settings: a new kind is one file and one line of the
// table in memory_config.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory/fast_memory.h"

namespace fwl {

class Fields;

// What a memory is made for and from.
struct MemoryInput {
  int64_t hidden_size;
  const Head& head;
  WeightSource& source;
  bool is_first_order = false;
  at::Tensor sample = {};  // 1,T,D: hidden states that the first step sizes are to fit, or undefined
};

// The settings of one kind.
class MemoryConfig {
 public:
  virtual ~MemoryConfig() = default;
  virtual std::unique_ptr<MemoryConfig> clone() const = 0;
  virtual void add_fields(Fields& fields) = 0;  // under names like "layer.residual"
  virtual void suit_pretrained() {}             // defaults for a pretrained model
  virtual std::shared_ptr<const FastMemory> make(const MemoryInput& input) const = 0;
  // Updates decay, are bounded or correct themselves: texts far longer than those of training do no harm.
  virtual bool bears_long_texts() const { return true; }
  // Without fast weights the memory adds nothing when it is new: the model is its base.
  virtual bool starts_as_identity() const { return false; }
};

// One kind, chosen by name among all of them.
class MemoryChoice {
 public:
  MemoryChoice();
  MemoryChoice(const MemoryChoice& other) { *this = other; }
  MemoryChoice& operator=(const MemoryChoice& other);
  MemoryChoice(MemoryChoice&&) = default;
  MemoryChoice& operator=(MemoryChoice&&) = default;
  ~MemoryChoice() = default;

  std::string kind = "layer";  // "none": hidden states go to the head as they are
  bool is_present() const { return kind != "none"; }

  void suit_pretrained();
  std::shared_ptr<const FastMemory> make(const MemoryInput& input) const;  // null for "none"
  bool bears_long_texts() const { return !is_present() || chosen().bears_long_texts(); }
  bool starts_as_identity() const { return !is_present() || chosen().starts_as_identity(); }

 private:
  friend void add_fields(Fields& fields, MemoryChoice& choice);
  const MemoryConfig& chosen() const;

  std::map<std::string, std::unique_ptr<MemoryConfig>> configs_;  // of every kind
};

void add_fields(Fields& fields, MemoryChoice& choice);
std::vector<std::string> memory_kinds();  // without "none"

// The kinds, for the table.
std::unique_ptr<MemoryConfig> layer_memory_config();
std::unique_ptr<MemoryConfig> bias_memory_config();
std::unique_ptr<MemoryConfig> delta_memory_config();

}  // namespace fwl
