"""A tuner of your own: draws configurations, has pooljit measure them, keeps the best. tuner.py POOLJIT SPEC"""
import json, random, subprocess, sys

pooljit, spec = sys.argv[1:3]
space = json.loads(subprocess.check_output([pooljit, "schedules", spec, "--json"]))


def draw():
    """A random configuration: each parameter from what those before it allow."""
    drawn = {}
    for parameter in space["parameters"]:
        values = parameter["values"]
        for constraint in space["constraints"]:
            *before, name = constraint["parameters"]
            if name == parameter["name"]:
                values = [row[-1] for row in constraint["allowed"] if row[:-1] == [drawn[one] for one in before]]
        drawn[parameter["name"]] = random.choice(values)
    return drawn


random.seed(1)
with subprocess.Popen([pooljit, "evaluate", spec, "--threads", "1", "--seconds", "0.01"], text=True,
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE) as evaluate:
    best = None
    for _ in range(40):
        print(json.dumps(draw()), file=evaluate.stdin, flush=True)
        result = json.loads(evaluate.stdout.readline())
        if result["status"] == "ok" and (best is None or result["ratio"] < best["ratio"]):
            best = result
            print(f"{best['median'] * 1e6:8.2f} us, {best['ratio']:.2f} of the default's time  {best['schedule']}  "
                  f"{best['proof']['verdict']}")
    evaluate.stdin.close()
