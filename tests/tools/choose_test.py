#!/usr/bin/env python3
"""bench/choose: what `collect` measures is what `judge` reads; the stored samples say what today's choices are worth, and can be
published: tuners of others replay them.

Usage: choose_test.py --command POOLJIT [--build FOLDER]    with the build's bench/random_layers a sweep is collected, too

Nothing here looks at a time that this machine took. The bounds are far from what is reached: they notice a choice that breaks.
"""
import argparse
import csv
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import kernel_tuner_cache

CHOOSE = pathlib.Path(__file__).parents[2] / "bench/choose"
LEAST_WITHIN = 0.75  # measure=6: 5 % of the winner, of all layers of a table
MOST_LOSS = 1.05  # measure=6
MOST_WORSE = 1.03  # today's default than that of the version that was measured, on the same layers


def judge(command, *arguments):
    done = subprocess.run([CHOOSE / "judge", "--json", "--measured", "6", *arguments], env={**os.environ, "POOLJIT": command},
                          capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def judged_rows(rows):
    """What is wrong with what `judge` says of a table."""
    of_all = {row["way"]: row for row in rows if row["of"] == "all"}
    if missing := {"recorded", "default", "measure=6"} - of_all.keys():
        yield f"{missing} are not judged"
        return
    recorded, default, measured = (of_all[way] for way in ("recorded", "default", "measure=6"))
    if measured["within_5_percent"] < LEAST_WITHIN or measured["mean_loss"] > MOST_LOSS:
        yield f"{measured['table']}: {measured['within_5_percent']:.0%} of measure=6 are within 5 %, loss {measured['mean_loss']:.3f}"
    if default["mean_loss"] > MOST_WORSE * recorded["mean_loss"]:
        yield f"{default['table']}: the default's loss is {default['mean_loss']:.3f}, it was {recorded['mean_loss']:.3f}"
    if measured["mean_loss"] > default["mean_loss"]:
        yield "what is measured is worse than the default that is among it"
    if len({row["of"] for row in rows}) < 3 or any(row["mean_loss"] < 1 for row in rows):
        yield "classes are missing, or something is faster than the winner"


def stored(command):
    for table in sorted((CHOOSE / "samples").glob("*.tsv.xz")):
        yield from judged_rows(judge(command, "--every", "25", table))


def evident(command):
    """What `--why` says of defaults is what they are worth today."""
    known = (CHOOSE.parents[1] / "ir/choose/evidence.def").read_text()
    done = subprocess.run([CHOOSE / "judge", "--evidence", *sorted((CHOOSE / "samples").glob("*.tsv.xz"))],
                          env={**os.environ, "POOLJIT": command}, capture_output=True, text=True, check=True)
    rows = [line for line in known.splitlines(keepends=True) if line.startswith("EVIDENCE(")]
    if "".join(rows) != done.stdout:
        yield "ir/choose/evidence.def is not what `bench/choose/judge --evidence bench/choose/samples/*.tsv.xz` prints: put its rows there"


def published(command, folder):
    """A few layers of each stored table as an archive: its sums, and searches on its spaces."""
    for table in sorted((CHOOSE / "samples").glob("*.tsv.xz")):
        name = table.name.split(".")[0]
        subprocess.run([CHOOSE / "publish", table, "--every", "600", "--into", folder], env={**os.environ, "POOLJIT": command},
                       check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(folder / f"pooljit-{name}.tar.xz") as archive:
            files = {one.name.split("/", 1)[1]: archive.extractfile(one).read() for one in archive if one.isfile()}
        sums = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
        if sums != {file: hashlib.sha256(data).hexdigest() for file, data in files.items()}:
            yield f"{name}: the sums are not those of its files"
        best = {}
        for row in csv.DictReader(files["samples.csv"].decode().splitlines()):
            best[row["layer"]] = min(best.get(row["layer"], math.inf), 1e3 * float(row["seconds"]))
        if not best or len(best) != len(files["layers.csv"].decode().splitlines()) - 1:
            yield f"{name}: samples of {len(best)} layers"
        for layer, milliseconds in best.items():
            cache = kernel_tuner_cache.read_cache(files[f"kernel-tuner/{layer}.json"].decode())
            t1, t4 = (json.loads(files[f"{form}/{layer}.json"]) for form in ("t1", "t4"))
            kernel_tuner_cache.check_t1(t1, cache)
            found = kernel_tuner_cache.simulate(cache, kernel_tuner_cache.restrictions_of(t1))
            if found != milliseconds or len(t4["results"]) != len(cache["cache"]):
                yield f"{name}, layer {layer}: a search finds {found} ms, not {milliseconds}; {len(t4['results'])} rows of T4"


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


def packed(command, folder):
    """A layer of 8 MB that a row says took a microsecond is left out, the same time of a small one is not."""
    small, large = "max_pool2d(float32[1,16,8,8], kernel_size=2)", "max_pool2d(float32[1,64,200,160], kernel_size=2)"
    schedule = "channels_first(lanes=8, scan=rows_first, tap_code=straight, tail={})"
    rows = [("avx2", small, schedule.format("mask"), "1e-06", "", "d"), ("avx2", large, schedule.format("mask"), "1e-03", "", "d"),
            ("avx2", large, schedule.format("overlap"), "1e-06", "", "")]
    given, out = folder / "given.tsv", folder / "packed.tsv"
    given.write_text("# pooljit samples 1\n# machine\tgeneric\n" + "".join("\t".join(row) + "\n" for row in rows))
    subprocess.run([CHOOSE / "pack", out, given], env={**os.environ, "POOLJIT": command}, check=True, stdout=subprocess.DEVNULL)
    text = out.read_text()
    if small not in text or large in text or "# left out\t1 layers" not in text:
        yield f"of a small layer and an impossible one there are:\n{text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--build", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [*stored(arguments.command), *evident(arguments.command), *published(arguments.command, pathlib.Path(folder)),
                 *packed(arguments.command, pathlib.Path(folder))]
        if arguments.build:
            found += collected(arguments.command, arguments.build, pathlib.Path(folder))
    print("\n".join(found) or "samples are collected and judged")
    return 1 if found else 0


sys.exit(main())
