"""Few-shot learning with SmolLM2: examples in the context, in the fast weights, in both, or fine-tuned on.

python benchmarks/few_shot.py DATA OUT [--tasks sst2 trec …] [--questions 50] [--context 2048] [--seed 0]

DATA has the files that benchmarks/few_shot_tasks.py names. Settings (memory, passes, what is learned from, learning rate) are
chosen once, on other examples and other questions of two tasks than those that count: OUT/tuning.json. Then writes
OUT/<task>.json with every answer, and OUT/few-shot.md with a table of all tasks that OUT has.
"""

import argparse
import json
import math
import os
import platform
import sys
import time
from datetime import date
from pathlib import Path

import torch
from few_shot_tasks import NAMES, load

import fwl

SHOTS = {"banking77": 77, "clinc150": 150, "trec": 24, "boolq": 6}
FEWEST_SHOTS = 16
TUNING_TASKS, TUNING_QUESTIONS = ("trec", "sst2"), 16
TRAINED, UNTRAINED = "smollm2-135m-blocks", {"at": "all"}
WAYS = [{"memory": memory, "passes": passes, "learn_from": learn_from} for memory, passes, learn_from in
        (("untrained", 1, "all"), ("trained", 1, "all"), ("trained", 3, "answers"))]
RATES = (1e-3, 4e-3)  # of fine-tuning, per step and weight (Adam)
EPOCHS = 2
COLUMNS = ("none", "context", "weights", "both", "fine-tuned")


class Models:
    def __init__(self, context):
        path = fwl.find_model("smollm2")
        self.tokenizer = fwl.open_tokenizer(path)
        self.context = context
        base = fwl.open_model(path)
        self.static = fwl.with_method(base, "static")
        self.untrained = fwl.with_method(base, "blocks", UNTRAINED)
        self.trained = fwl.open_model(path, fwl.find_adapter(TRAINED))
        self.tunable = fwl.with_method(base, "blocks", {**UNTRAINED, "start": True})

    def answers(self, model, examples, questions, task, **settings):
        start = time.monotonic()
        result = fwl.few_shot(model, self.tokenizer, examples, questions, by_length=task.by_length, context=self.context,
                              **settings)
        return {**result, "seconds": time.monotonic() - start}

    def with_weights(self, way, examples, questions, task, place="weights"):
        return self.answers(getattr(self, way["memory"]), examples, questions, task, examples_in=place,
                            passes=way["passes"], learn_from=way["learn_from"])

    def fine_tuned(self, rate, examples, questions, task):
        """The same matrices in the blocks, trained by Adam on the answers, one example per step."""
        start = self.tunable.parameters()["blocks.W"]
        with torch.no_grad():
            start.zero_()
        start.requires_grad_(True)
        optimizer = torch.optim.Adam([start], lr=rate)
        begun = time.monotonic()
        for _ in range(EPOCHS):
            for example in examples:
                prompt = self.tokenizer.encode(example["prompt"])
                tokens = torch.from_numpy(self.tokenizer.encode(example["prompt"] + example["answer"])).long()
                losses = self.tunable.read(tokens[None, -512:], self.tunable.new_session(), adapt="read")
                optimizer.zero_grad()
                losses[:, -(len(tokens) - len(prompt)):].mean().backward()
                optimizer.step()
        start.requires_grad_(False)
        trained = time.monotonic() - begun
        result = self.answers(self.tunable, examples[:1], questions, task, examples_in="weights", passes=0)
        return {**result, "seconds": result["seconds"] + trained}


def tuned(models, tasks):
    """The way and the rate with most right answers, on average over the tasks, on questions that do not count."""
    def tried(setting, answers):
        parts = [(task.valid_examples, task.valid_questions[:TUNING_QUESTIONS], task) for task in tasks]
        rights = [answers(setting, *part)["right"] for part in parts]
        return {"setting": setting, "right": rights, "mean": sum(rights) / len(rights)}

    ways = [tried(way, models.with_weights) for way in WAYS]
    rates = [tried(rate, models.fine_tuned) for rate in RATES]
    best_way, best_rate = (max(tries, key=lambda attempt: attempt["mean"])["setting"] for tries in (ways, rates))
    return {"way": best_way, "rate": best_rate, "ways": ways, "rates": rates}


def measure(models, task, way, rate):
    given = (task.examples, task.questions, task)
    return {"none": models.answers(models.static, *given, examples_in="none"),
            "context": models.answers(models.static, *given, examples_in="context"),
            "weights": models.with_weights(way, *given),
            "both": models.with_weights(way, *given, place="both"),
            "fine-tuned": models.fine_tuned(rate, *given)}


def difference(a, b):
    """Of the shares of right answers on the same questions, b - a, with its 95 % interval."""
    both = [int(right) - int(left) for left, right in zip(a["is_right"], b["is_right"])]
    mean = sum(both) / len(both)
    variance = sum((value - mean) ** 2 for value in both) / (len(both) - 1)
    return mean, 1.96 * math.sqrt(variance / len(both))


def table(results):
    lines = ["| task | choices | examples (in context) | questions | " + " | ".join(COLUMNS) + " | weights − context |",
             "|---|---:|---:|---:|" + "---:|" * (len(COLUMNS) + 1)]
    for result in results:
        rows = result["rows"]
        shares = [f"{100 * rows[name]['right']:.0f} ({100 * rows[name]['low']:.0f} to {100 * rows[name]['high']:.0f})"
                  for name in COLUMNS]
        mean, half = difference(rows["context"], rows["weights"])
        lines.append(f"| {result['task']} | {result['choices']} | {result['examples']} ({rows['context']['examples_in_context']}) "
                     f"| {result['questions']} | " + " | ".join(shares) + f" | {100 * mean:+.0f} ± {100 * half:.0f} |")
    return "\n".join(lines) + "\n"


def record(path, content, start):
    path.write_text(json.dumps({**content, "seconds": time.monotonic() - start, "command": "python " + " ".join(sys.argv),
                                "date": date.today().isoformat(), "load": os.getloadavg()[0],
                                "machine": f"{platform.machine()}, {os.cpu_count()} cores, 1 thread"}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    models = Models(options.context)

    def task_of(name):
        return load(name, options.data, SHOTS.get(name, FEWEST_SHOTS), options.questions, options.seed)

    tuning = options.out / "tuning.json"
    if not tuning.exists():
        start = time.monotonic()
        record(tuning, tuned(models, [task_of(name) for name in TUNING_TASKS]), start)
    chosen = json.loads(tuning.read_text())
    for name in options.tasks:
        start = time.monotonic()
        task = task_of(name)
        result = {"task": name, "choices": len(task.questions[0]["choices"]), "examples": len(task.examples),
                  "questions": len(task.questions), "context": options.context, "seed": options.seed,
                  "way": chosen["way"], "rate": chosen["rate"],
                  "rows": measure(models, task, chosen["way"], chosen["rate"])}
        record(options.out / f"{name}.json", result, start)
        print(table([result]).splitlines()[-1], flush=True)
        results = [json.loads(path.read_text()) for known in NAMES if (path := options.out / f"{known}.json").exists()]
        (options.out / "few-shot.md").write_text(table(results))


if __name__ == "__main__":
    main()
