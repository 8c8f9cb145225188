"""lm-evaluation-harness offline: SmolLM2 in its hf class, in fwl without fast weights, and in fwl with them.

python benchmarks/lm_eval_tasks.py DATA OUT.json [--tasks arc_easy piqa …] [--items 50]

The tasks are the ready questions of benchmarks/few_shot_tasks.py, as local task files. The hf class dequantises the same GGUF
file to fp32. OUT.json has every score, and how far the likelihoods of single choices differ.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import torch
import transformers
from few_shot_tasks import READY, ready_questions
from lm_eval import __version__ as harness_version
from lm_eval.evaluator import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

import fwl
from fwl.lm_eval import FastWeightLM

TASK = """task: local_{name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{query}}}}"
doc_to_target: "{{{{gold}}}}"
doc_to_choice: "{{{{choices}}}}"
metric_list:
  - metric: acc
  - metric: acc_norm
"""


def write_task(name, data, items, folder):
    lines = [{"query": item["prompt"], "choices": [choice.strip() for choice in item["choices"]],
              "gold": item["choices"].index(item["answer"])} for item in ready_questions(data, name)[:items]]
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / f"{name}.yaml").write_text(TASK.format(name=name, file=file))


def evaluated(model, names, folder):
    """Scores by task, and the likelihoods of all choices in order."""
    start = time.monotonic()
    found = simple_evaluate(model=model, tasks=[f"local_{name}" for name in names], bootstrap_iters=0, batch_size=8,
                            task_manager=TaskManager(include_path=str(folder), include_defaults=False))
    scores = {name: {metric: found["results"][f"local_{name}"][f"{metric},none"] for metric in ("acc", "acc_norm")}
              for name in names}
    samples = {name: [response[0][0] for sample in sorted(found["samples"][f"local_{name}"], key=lambda one: one["doc_id"])
                      for response in sample["resps"]] for name in names}
    return {"scores": scores, "seconds": time.monotonic() - start}, samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", nargs="*", default=list(READY), choices=list(READY))
    parser.add_argument("--items", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    path = Path(fwl.find_model("smollm2"))
    # The tokenizer that transformers makes of this GGUF file adds a begin token, which the model was not trained with.
    models = {"hf": lambda: HFLM(pretrained=str(path.parent), gguf_file=path.name, dtype="float32", device="cpu", batch_size=8,
                                 add_bos_token=False),
              "fwl, static": lambda: FastWeightLM(path=path),
              "fwl, blocks": lambda: FastWeightLM(path=path, blocks="all"),
              "fwl, trained blocks": lambda: FastWeightLM(path=path, adapter="smollm2-135m-blocks")}
    results, likelihoods = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tasks:
            write_task(name, options.data, options.items, Path(folder))
        for name, make in models.items():
            results[name], likelihoods[name] = evaluated(make(), options.tasks, Path(folder))
            print(name, json.dumps(results[name]), flush=True)
    apart = {task: max(abs(float(one) - float(other)) for one, other in zip(likelihoods["hf"][task],
                                                                            likelihoods["fwl, static"][task], strict=True))
             for task in options.tasks}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(
        {"items": options.items, "models": results, "largest_difference_of_log_likelihoods_hf_static": apart,
         "versions": {"lm_eval": harness_version, "transformers": transformers.__version__, "fwl": fwl.__version__},
         "command": "python " + " ".join(sys.argv), "date": date.today().isoformat(),
         "machine": f"{platform.machine()}, {os.cpu_count()} cores, 1 thread"}, indent=1) + "\n")


if __name__ == "__main__":
    main()
