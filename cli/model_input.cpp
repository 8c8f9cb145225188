#include "cli/model_input.h"

#include "cli/model_name.h"
#include "support/error.h"

namespace fwl {

void add_fields(Fields& fields, ModelInput& input) {
  fields.add("model", input.model, "a GGUF file, a Hugging Face folder, a model or run of fwl train, or smollm2")
      .required()
      .short_name("m")
      .reads_file();
  fields
      .add("adapter", input.adapter,
           "a fast weight layer for the model: a folder or run of fwl attach, or smollm2-135m")
      .reads_file();
  add_fields(fields, input.engine);
  add_fields(fields, "", input.head);
  add_fields(fields, input.blocks);
}

void find_paths(ModelInput& input, Console& console) {
  input.model = find_model("--model", input.model, console);
  input.adapter = find_adapter(input.adapter, console);
}

OpenedModel open_with_vocabulary(const ModelInput& input, WeightFormat format, Console& console) {
  const auto device = apply(input.engine);
  auto opened = open_model(input.model, input.adapter, format, console.progress("open"));
  opened.model->to(device);
  opened.model->shared_base()->set_head_options(input.head);
  if (!opened.model->tokenizer()) fail(input.model, "a model with a vocabulary", "none beside the weights");
  return opened;
}

}  // namespace fwl
