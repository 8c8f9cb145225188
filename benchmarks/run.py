"""Runs the comparison with other projects, or the benchmarks named: python benchmarks/run.py [speed] [tokenizer_speed]
[layer_speed] [model_speed] [training_speed]"""

import importlib
import sys
from pathlib import Path

STANDARD = ("tokenizer_speed", "speed")
BENCHMARKS = (*STANDARD, "layer_speed", "model_speed", "training_speed")


def main():
    sys.path.insert(0, str(Path(__file__).parent))
    chosen = sys.argv[1:] or STANDARD
    unknown = [name for name in chosen if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"benchmarks: expected some of {', '.join(BENCHMARKS)}, got {', '.join(unknown)}")
    for name in chosen:
        print(f"== {name}", flush=True)
        importlib.import_module(name).main([])


if __name__ == "__main__":
    main()
