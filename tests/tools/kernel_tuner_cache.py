#!/usr/bin/env python3
"""What `pooljit tune --export kernel-tuner` and `--export t1` write, read as Kernel Tuner 1.4 reads it when it simulates a search.

Usage: kernel_tuner_cache.py --command POOLJIT

Kernel Tuner is no package of Debian: where Python has it, its own `tune_cache` reads the file as well. Else this stand-in does what
its source does with a cache: the file has to end as a closed one does, errors are found by their words, problem sizes are numbers,
a configuration is looked up by its values joined with commas, in the order of the parameters, each that the restrictions allow is
there, and times add up in milliseconds.
"""
import argparse
import ast
import json
import pathlib
import subprocess
import sys
import tempfile

SPECS = ["avg_pool2d(uint8[1,5,6,6]:nhwc, kernel_size=2)", "pools(float32[1,2,6,6], max_pool2d(2), avg_pool2d(3))"]
ERRORS = {"ErrorConfig", "InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig"}
TIMES = ["compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"]


class Unreadable(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Unreadable(what)


def read_cache(text):
    text = text.strip()
    require(text[-3:] in ("}\n}", "}}}"), "the file is taken for one that was not closed")
    cache = json.loads(text)
    for entry in cache["cache"].values():
        if any(isinstance(value, str) and value in ERRORS for value in entry.values()):
            entry["__error__"] = True
    return cache


def restrictions_of(t1):
    """(names, function of a configuration) of each restriction."""
    return [(set(one["Parameters"]), lambda params, code=compile(one["Expression"], "restriction", "eval"): eval(code, {}, dict(params)))
            for one in t1["ConfigurationSpace"]["Conditions"]]


def configurations(tune_params, restrictions, params):
    """All that the restrictions allow; each is asked as soon as it can be answered."""
    if len(params) == len(tune_params):
        yield dict(params)
        return
    name = list(tune_params)[len(params)]
    for value in tune_params[name]:
        longer = {**params, name: value}
        if all(allows(longer) for names, allows in restrictions if name in names and names <= longer.keys()):
            yield from configurations(tune_params, restrictions, longer)


def simulate(cache, restrictions):
    """Every configuration that the restrictions allow, as brute force visits them; the best time."""
    names = cache["tune_params_keys"]
    require(list(cache["tune_params"]) == names, "the parameters are in another order than their keys")
    require(all(isinstance(size, int) for size in cache["problem_size"]) and 0 < len(cache["problem_size"]) <= 3, "problem_size is no size")
    for values in cache["tune_params"].values():
        require(any(isinstance(value, str) for value in values) or values == sorted(values), f"{values} are not in order")
    visited, best, spent = 0, None, 0.0
    for params in configurations(cache["tune_params"], restrictions, {}):
        key = ",".join(str(value) for value in params.values())
        require(key in cache["cache"], f"{key} is not in the cache")
        entry = cache["cache"][key]
        require(all(entry[name] == value for name, value in params.items()), f"{key} has other parameters")
        spent += sum(float(entry[name]) for name in TIMES)
        visited += 1
        if "__error__" not in entry:
            require(isinstance(entry["time"], float) and entry["times"], f"{key} has no time")
            best = entry["time"] if best is None else min(best, entry["time"])
    require(visited == len(cache["cache"]), f"{visited} of {len(cache['cache'])} configurations are reached")
    require(best is not None and spent > best, "the times do not add up")
    return best


def check_t1(t1, cache):
    parameters = t1["ConfigurationSpace"]["TuningParameters"]
    require([one["Name"] for one in parameters] == cache["tune_params_keys"], "T1 has other parameters")
    for one in parameters:
        values = ast.literal_eval(one["Values"])
        require(values == cache["tune_params"][one["Name"]], f"{one['Name']} has other values in T1")
        require({type(value) for value in values} == {{"int": int, "string": str}[one["Type"]]}, f"{one['Name']} is of another type")
        require(one["Default"] in values, f"the default of {one['Name']} is none of its values")
    kernel = t1["KernelSpecification"]
    require(kernel["ProblemSize"] == cache["problem_size"], "T1 has another size")
    require(kernel["Language"] in ("OpenCL", "CUDA", "Vulkan", "Hypertuner"), "T1 has no such language")


def export(command, samples, form, spec):
    return subprocess.run([command, "tune", "--samples", samples, "--export", form, spec], check=True, capture_output=True, text=True).stdout


def is_noticed(text, restrictions):
    try:
        simulate(read_cache(text), restrictions)
    except Unreadable:
        return True
    return False


def check(command, folder):
    samples = folder / "samples"
    subprocess.run([command, "tune", *SPECS, "--samples", samples, "--proof", "compare", "--db", folder / "db", "--exhaustive", "--seconds",
                    "0.0001", "--threads", "1"], check=True, stdout=subprocess.DEVNULL)
    for spec in SPECS:
        text, t1 = export(command, samples, "kernel-tuner", spec), json.loads(export(command, samples, "t1", spec))
        cache = read_cache(text)
        best = simulate(cache, restrictions_of(t1))
        check_t1(t1, cache)
        # This reader can fail.
        missing = json.loads(text)
        missing["cache"].popitem()
        turned = json.loads(text)
        turned["tune_params_keys"].reverse()
        for broken in (text[:-2], json.dumps(missing, indent=2), json.dumps(turned, indent=2)):
            require(is_noticed(broken, restrictions_of(t1)), "a broken cache was not noticed")
        simulate_by_kernel_tuner(folder, text, best)


def simulate_by_kernel_tuner(folder, text, best):
    try:
        import kernel_tuner
    except ImportError:
        return
    (folder / "cache.json").write_text(text)
    results, _ = kernel_tuner.tune_cache(str(folder / "cache.json"), lang="C", quiet=True)
    found = min(result["time"] for result in results if "__error__" not in result)
    require(found == best, f"Kernel Tuner finds {found}, not {best}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check(arguments.command, pathlib.Path(folder))


if __name__ == "__main__":
    main()
