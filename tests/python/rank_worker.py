"""One rank: runs the command lines of a JSON file one after another in one process group, and notes their exit codes."""

import datetime
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from fwl import _C

torch.set_num_threads(1)
timeout = 60
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout))
lines = json.loads(Path(sys.argv[1]).read_text())
codes = [_C.run_command(line, dist.group.WORLD.group_name, timeout) for line in lines]
Path(f"{sys.argv[1]}.{os.environ['RANK']}").write_text(json.dumps(codes))
dist.destroy_process_group()
