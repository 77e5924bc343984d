#!/usr/bin/env python3
"""ONNX's own node tests for pooling, as Debian's python3-onnx generates them, through `pooljit onnx-test`.

  node_tests.py --command build/pooljit [--folder DIR] [--backend NAME]

A difference is an error unless EXPLAINED names its rule. What is refused as not done yet (spec.unsupported_...) is counted.
Exit codes: 0 as expected, 1 not, 77 python3-onnx is not installed (ctest reports the test as skipped).
"""
import argparse
import importlib
import pathlib
import subprocess
import sys
import tempfile

try:
    import onnx.backend.test.case.node as node_cases
    from onnx import numpy_helper
except ImportError:
    print("skipped: python3-onnx not installed")
    sys.exit(77)

OPERATORS = {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "MaxUnpool"}
EXPLAINED = {
    "test_maxunpool_export_with_output_shape": "ONNX counts the indices in the shape that it would infer, not in output_shape",
}


def write_test(folder, case):
    """One test in the layout of onnx's backend tests."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, array in enumerate(arrays):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def pooling_cases():
    for operator in OPERATORS - {"LpPool", "GlobalLpPool"}:  # those have no tests in this version
        importlib.import_module(f"{node_cases.__name__}.{operator.lower()}")
    for case in node_cases._NodeTestCases:  # collect_testcases() imports modules that today's numpy refuses
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS:
            yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--folder", help="keep the tests here")
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(arguments.folder or temporary)
        folders = []
        for case in pooling_cases():
            folders.append(root / case.name)
            write_test(folders[-1], case)
        run = subprocess.run([arguments.command, "onnx-test", "--backend", arguments.backend, *map(str, sorted(folders))],
                             capture_output=True, text=True, check=False)
    print(run.stdout, run.stderr, sep="")
    lines = run.stdout.splitlines()
    names = lambda chosen: {line.split()[1].rstrip(":") for line in chosen}
    passed = names(line for line in lines if line.startswith("ok "))
    planned = names(line for line in lines if line.startswith("refused ") and ": spec.unsupported_" in line)
    for name in sorted(EXPLAINED.keys() - passed - planned):
        print(f"explained {name}: {EXPLAINED[name]}")
    wrong = {folder.name for folder in folders} - passed - planned - EXPLAINED.keys()
    print(f"{len(folders)} tests: {len(passed)} pass, {len(planned)} not done yet; wrong: {', '.join(sorted(wrong)) or 'none'}")
    return 1 if wrong or len(passed) < 20 else 0



if __name__ == "__main__":
    sys.exit(main())
