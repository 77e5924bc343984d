#!/usr/bin/env python3
"""ONNX's own node tests for pooling through `pooljit onnx-test`: those of node-opset22.tar.xz, and what Debian's python3-onnx
generates, which is older.

  node_tests.py --command build/pooljit [--folder DIR] [--backend NAME]

A difference is an error unless EXPLAINED names its rule. Exit codes: 0 as expected, 1 not, 77 python3-onnx is not installed
(ctest reports the test as skipped; the archive is tested first).
"""
import argparse
import importlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ARCHIVE = pathlib.Path(__file__).parent / "node-opset22.tar.xz"
ARCHIVED = 53
OPERATORS = {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "MaxUnpool"}
EXPLAINED = {
    "test_maxunpool_export_with_output_shape": "ONNX counts the indices in the shape that it would infer, not in output_shape",
}


def write_test(folder, case, numpy_helper):
    """One test in the layout of onnx's backend tests."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, array in enumerate(arrays):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def archived(root):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(root)
    folders = sorted((root / "node").iterdir())
    assert len(folders) == ARCHIVED, len(folders)
    return folders


def generated(root):
    """None without python3-onnx."""
    try:
        import onnx.backend.test.case.node as node_cases
        from onnx import numpy_helper
    except ImportError:
        return None
    for operator in OPERATORS - {"LpPool", "GlobalLpPool"}:  # those have no tests in this version
        importlib.import_module(f"{node_cases.__name__}.{operator.lower()}")
    folders = []
    for case in node_cases._NodeTestCases:  # collect_testcases() imports modules that today's numpy refuses
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS:
            folders.append(root / case.name)
            write_test(folders[-1], case, numpy_helper)
    return sorted(folders)


def wrong_ones(arguments, folders):
    run = subprocess.run([arguments.command, "onnx-test", "--backend", arguments.backend, *map(str, folders)],
                         capture_output=True, text=True, check=False)
    print(run.stdout, run.stderr, sep="")
    passed = {line.split()[1] for line in run.stdout.splitlines() if line.startswith("ok ")}
    names = {folder.name for folder in folders}
    for name in sorted(EXPLAINED.keys() & names - passed):
        print(f"explained {name}: {EXPLAINED[name]}")
    wrong = names - passed - EXPLAINED.keys()
    print(f"{len(folders)} tests: {len(passed)} pass; wrong: {', '.join(sorted(wrong)) or 'none'}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--folder", help="keep the tests here")
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(arguments.folder or temporary)
        wrong = wrong_ones(arguments, archived(root))
        folders = generated(root / "generated")
        wrong |= wrong_ones(arguments, folders) if folders else set()
    if wrong:
        return 1
    if folders is None:
        print("skipped: python3-onnx not installed")
        return 77
    return 0 if len(folders) > 20 else 1


if __name__ == "__main__":
    sys.exit(main())
