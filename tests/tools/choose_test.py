#!/usr/bin/env python3
"""bench/choose: what `collect` measures is what `judge` reads; the stored samples say what today's choices are worth.

Usage: choose_test.py --command POOLJIT [--build FOLDER]    with the build's bench/random_layers a sweep is collected, too

Nothing here looks at a time that this machine took. The bounds are far from what is reached: they notice a choice that breaks.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CHOOSE = pathlib.Path(__file__).parents[2] / "bench/choose"
LEAST_WITHIN = {"default": 0.5, "measure=6": 0.75}  # 5 % of the winner, of all layers of a table
MOST_LOSS = {"default": 1.15, "measure=6": 1.05}


def judge(command, *arguments):
    done = subprocess.run([CHOOSE / "judge", "--json", "--measured", "6", *arguments], env={**os.environ, "POOLJIT": command},
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def judged_rows(rows):
    """What is wrong with what `judge` says of a table."""
    of_all = {row["way"]: row for row in rows if row["of"] == "all"}
    for way in LEAST_WITHIN:
        row = of_all.get(way)
        if not row:
            yield f"{way} is not judged"
            continue
        if row["within_5_percent"] < LEAST_WITHIN[way] or row["mean_loss"] > MOST_LOSS[way]:
            yield f"{row['table']}: {row['within_5_percent']:.0%} of {way} are within 5 %, loss {row['mean_loss']:.3f}"
    if of_all["measure=6"]["mean_loss"] > of_all["default"]["mean_loss"]:
        yield "what is measured is worse than the default that is among it"
    if len({row["of"] for row in rows}) < 3 or any(row["mean_loss"] < 1 for row in rows):
        yield "classes are missing, or something is faster than the winner"


def stored(command):
    for table in sorted((CHOOSE / "samples").glob("*.tsv.xz")):
        yield from judged_rows(judge(command, "--every", "25", table))


def collected(command, build, folder):
    """A sweep that is stopped by its time, and goes on."""
    collect = [CHOOSE / "collect", folder / "sweep", "--layers", "2", "--turn", "1", "--seconds", "0.0001", "--isa", "avx2",
               "--classes", "float32/nhwc,uint8/nchw", "--build", build]
    subprocess.run([*collect, "--minutes", "0.02"], capture_output=True, check=False)  # a second: it may measure nothing
    done = subprocess.run(collect, capture_output=True, text=True, check=True)
    if "goes on" in done.stdout or "avx2 float32 nhwc: 2 layers" not in done.stdout:
        yield f"the sweep is not complete: {done.stdout}"
    parts = sorted(one.name for one in (folder / "sweep").iterdir())
    if [name for name in parts if name.startswith("part-")] != ["part-000-avx2.tsv.xz", "part-001-avx2.tsv.xz"]:
        yield f"other parts than two: {parts}"
    (table,) = [folder / "sweep" / name for name in parts if not name.startswith("part-")]
    rows = judge(command, table)
    if {row["of"] for row in rows} != {"avx2 float32 nhwc", "avx2 uint8 nchw", "all"}:
        yield f"judged are {rows}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--build", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(stored(arguments.command))
        if arguments.build:
            found += collected(arguments.command, arguments.build, pathlib.Path(folder))
    print("\n".join(found) or "samples are collected and judged")
    return 1 if found else 0


sys.exit(main())
