#!/usr/bin/env python3
"""`pooljit bench --benchmark-out` beside what Google Benchmark itself writes: every field that both have is of one type,
and none is missing that its compare.py reads. Where Debian's libbenchmark-tools and python3-scipy are there, compare.py
reads the file, too; where not, a line says so.
Usage: google_benchmark.py --command POOLJIT --bench BENCH_PROBLEMS"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

COMPARE = pathlib.Path("/usr/share/benchmark/compare.py")
LAYERS = "small\tmax_pool2d(float32[1,3,10,12], kernel_size=3, padding=1)\n"
# What bench_problems tells of its machine and we do not: names of the host, and clocks that may not be known.
NOT_OURS = {"host_name", "mhz_per_cpu", "cpu_scaling_enabled"}


def kind(value):
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def differences(name, ours, theirs, optional=frozenset()):
    for key in theirs.keys() - optional:
        if key not in ours:
            yield f"{name}: no {key}"
        elif kind(ours[key]) != kind(theirs[key]):
            yield f"{name}: {key} is a {kind(ours[key])}, not a {kind(theirs[key])}"


def first_run(report, run_type, name):
    return next(run for run in report["benchmarks"] if run["run_type"] == run_type and run["name"].endswith(name))


def schema_differences(ours, theirs):
    yield from differences("context", ours["context"], theirs["context"], NOT_OURS)
    caches = list(zip(ours["context"]["caches"], theirs["context"]["caches"]))
    if not caches:
        print("SKIPPED: the fields of a cache (this machine shows none)")
    for our_cache, their_cache in caches:
        yield from differences("cache", our_cache, their_cache)
    yield from differences("run", first_run(ours, "iteration", "pooljit"), first_run(theirs, "iteration", ""))
    yield from differences("median", first_run(ours, "aggregate", "_median"), first_run(theirs, "aggregate", "_median"))


def compare_differences(path):
    """compare.py: two runs of everything, and one engine beside another within a run."""
    for arguments, wanted in ((["benchmarks", path, path], "small/pooljit"),
                              (["filters", path, "/pooljit", "/plain"], "[/pooljit vs. /plain]")):
        done = subprocess.run([sys.executable, COMPARE, *arguments], capture_output=True, text=True)
        if done.returncode != 0 or wanted not in done.stdout:
            yield f"compare.py {arguments[0]}: exit code {done.returncode}\n{done.stdout}{done.stderr}"


def check(command, bench, folder):
    layers, path = folder / "layers.txt", folder / "ours.json"
    layers.write_text(LAYERS)
    subprocess.run([command, "bench", "--file", layers, "--peers", "plain", "--threads", "1", "--seconds", "0.01",
                    "--benchmark-out", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    theirs = subprocess.run([bench, f"--problems={layers}", "--benchmark_format=json", "--benchmark_repetitions=2",
                             "--benchmark_min_time=0.001"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = list(schema_differences(json.loads(path.read_text()), json.loads(theirs.stdout)))
    if COMPARE.exists() and importlib.util.find_spec("scipy"):
        found += compare_differences(path)
    else:
        print("SKIPPED: compare.py (Debian: libbenchmark-tools, python3-scipy)")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--bench", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = check(arguments.command, arguments.bench, pathlib.Path(folder))
    print("\n".join(found) if found else "Google Benchmark's tools understand us")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
