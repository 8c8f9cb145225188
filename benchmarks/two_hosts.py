"""Two hosts on one machine: a run over a slow link, one host killed, one cut off. Needs root and /dev/net/tun.

    sudo python3 benchmarks/two_hosts.py --out results/ranks/two-hosts.json

The hosts are network namespaces whose only link is this process, which forwards packets after a delay, or not at all
while the link is cut.
"""

import argparse
import ctypes
import fcntl
import heapq
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv/bin/python"
HOSTS = ["fwl-host-0", "fwl-host-1"]
ADDRESSES = ["10.77.0.1", "10.77.0.2"]
STEPS = 400
MODEL = ["--threads", "1", "--model.layers", "1", "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32",
         "--layer.size", "32", "--data.rows", "8", "--data.segment-tokens", "32", "--data.order", "lanes",
         "--run.steps", str(STEPS), "--run.checkpoint-every", "50", "--run.log-every", "1"]
TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def tun_inside(host):
    """An interface in the namespace of a host, whose packets this process reads and writes."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as home, open(f"/var/run/netns/{host}") as away:
        if libc.setns(away.fileno(), CLONE_NEWNET) != 0:
            sys.exit(f"{host}: {os.strerror(ctypes.get_errno())}")
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"wire", IFF_TUN | IFF_NO_PI))
        libc.setns(home.fileno(), CLONE_NEWNET)
    return tun


class Link(threading.Thread):
    """Forwards packets between two interfaces after a delay."""

    def __init__(self, tuns, delay):
        super().__init__(daemon=True)
        self.tuns, self.delay, self.is_cut, self.packets = tuns, delay, False, 0

    def run(self):
        waiting = []
        while True:
            timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.05
            for tun in select.select(self.tuns, [], [], timeout)[0]:
                packet = os.read(tun, 65536)
                self.packets += 1
                if not self.is_cut:
                    other = self.tuns[1 - self.tuns.index(tun)]
                    heapq.heappush(waiting, (time.monotonic() + self.delay, self.packets, other, packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, other, packet = heapq.heappop(waiting)
                os.write(other, packet)


def start(host, folder, tokens, timeout, log):
    """torchrun on one host; the first one keeps the meeting point."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "wire", "PYTHONPATH": str(ROOT / "python"),
                   "TP_SOCKET_IFNAME": "wire"}
    line = ["ip", "netns", "exec", HOSTS[host], PYTHON, "-m", "torch.distributed.run", "--nnodes", 2, "--nproc-per-node", 1,
            "--node-rank", host, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES[0]}:29400", "--rdzv-id", "fwl",
            "--rdzv-conf", f"is_host={int(host == 0)}", "--local-addr", ADDRESSES[host], "--max-restarts", 3, "-m",
            "fwl.train", "--data.train", tokens, "--out", folder, *MODEL, "--resume", "--rank-timeout", timeout]
    return subprocess.Popen([str(part) for part in line], env=environment, stdout=log, stderr=log, start_new_session=True)


def losses(folder):
    try:
        lines = [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]
    except (FileNotFoundError, json.JSONDecodeError):
        return {}, 0
    return ({line["step"]: line["loss"] for line in lines if line["event"] == "step"},
            sum(line["event"] == "resume" for line in lines))


def rank_process(agent):
    """The training process under a torchrun (below `ip netns exec`, which replaces itself)."""
    children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    return int(children[0])


def run(name, folder, tokens, timeout, disturb):
    """One run over both hosts; `disturb` is called with both launchers once 60 steps are done."""
    begin = time.monotonic()
    with open(folder / f"{name}.log", "w") as log:
        agents = [start(host, folder / name, tokens, timeout, log) for host in range(2)]
        while len(losses(folder / name)[0]) < 60:
            if any(agent.poll() is not None for agent in agents) or time.monotonic() - begin > 300:
                sys.exit((folder / f"{name}.log").read_text()[-3000:])
            time.sleep(0.2)
        disturb(agents)
        codes = [agent.wait(600) for agent in agents]
    by_step, resumed = losses(folder / name)
    said = sorted({line for line in (folder / f"{name}.log").read_text().splitlines() if line.startswith("fwl: ")})
    return by_step, {"exit_codes": codes, "steps": len(by_step), "resumed": resumed, "said": said,
                     "seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--delay", type=float, default=2, help="milliseconds in each direction")
    parser.add_argument("--cut", type=float, default=30, help="seconds without a link")
    options = parser.parse_args()
    for host in HOSTS:
        ip("netns", "add", host)
    try:
        for host, address in zip(HOSTS, ADDRESSES):
            ip("-n", host, "link", "set", "lo", "up")
        tuns = [tun_inside(host) for host in HOSTS]
        for host, address in zip(HOSTS, ADDRESSES):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "wire")
            ip("-n", host, "link", "set", "wire", "up")
        link = Link(tuns, options.delay / 1e3)
        link.start()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            tokens = folder / "readme.tokens"
            subprocess.run([ROOT / "build/release/fwl", "tokenize", "--tokenizer", "bytes", "--out", tokens, ROOT / "README.md"],
                           check=True, capture_output=True)

            def cut(_):
                link.is_cut = True
                time.sleep(options.cut)
                link.is_cut = False

            plain, undisturbed = run("undisturbed", folder, tokens, 60, lambda agents: None)
            killed, kill = run("killed", folder, tokens, 60, lambda agents: os.kill(rank_process(agents[1]), 9))
            cut_off, separated = run("cut-off", folder, tokens, 10, cut)
        for by_step, record in ((killed, kill), (cut_off, separated)):
            same = [step for step in plain if step in by_step]
            record["largest_difference"] = max(abs(plain[step] - by_step[step]) for step in same)
        result = {"command": " ".join(["python3", *sys.argv]), "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0],
                  "delay_ms": options.delay, "cut_seconds": options.cut, "packets": link.packets, "undisturbed": undisturbed,
                  "killed": kill, "cut_off": separated}
        Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(result, indent=1))
    finally:
        for host in HOSTS:
            ip("netns", "del", host)


if __name__ == "__main__":
    main()
