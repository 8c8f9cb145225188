#include "cli/model_input.h"

#include "support/error.h"

namespace fwl {

void add_fields(Fields& fields, ModelInput& input) {
  fields.add("model", input.model, "a model trained here, a GGUF file or a Hugging Face folder")
      .required()
      .short_name("m");
  fields.add("adapter", input.adapter, "a fast weight layer for it (fwl attach)");
  add_fields(fields, input.engine);
}

OpenedModel open_with_vocabulary(const ModelInput& input, WeightFormat format, Console& console) {
  const auto device = apply(input.engine);
  if (!device.is_cpu()) fail("--device", "cpu", input.engine.device, "models are opened on the CPU");
  auto opened = open_model(input.model, input.adapter, format, console.progress("open"));
  if (!opened.model->tokenizer()) fail(input.model, "a model with its vocabulary", "none beside the weights");
  return opened;
}

}  // namespace fwl
