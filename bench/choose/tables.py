"""Tables of measured schedules, one a machine: read and written for the commands beside this file (README.md).

A table is text, mostly as .xz: lines `# NAME<tab>VALUE` about the machine, then a line a schedule, COLUMNS with tabs between them.
"""
import collections
import json
import lzma
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TITLE = "# pooljit samples 1"
COLUMNS = "isa spec schedule seconds spread flags".split()
# The facts that all rows of a table share.
SHARED = ["cpu", "machine", "caches", "threads", "backend", "pooljit"]

# seconds: of a call; spread: half the distance of the quartiles, in percent of the median, None where nobody noted it;
# flags: d: it was the default, x: the machine was disturbed.
Row = collections.namedtuple("Row", "schedule seconds spread flags")
STREAMED = ", stores=streamed"  # measured by its neighbours, not by itself (docs/tuning.md): its loops are the same
# A core that was met moves 115 GB/s at most beyond its own caches: faster rows of images of so many bytes are no measurements.
FAR_BYTES, MOST_RATE = 4e6, 150e9
# Words of schedules that say how, by field; of a family without the field: "1" or "-" (parse).
FIELDS = {"vectors_side_by_side": ["1", "2", "3", "4", "8", "16"], "rows_together": ["1", "2", "3", "4", "8"],
          "tail": ["mask", "overlap", "split"], "tap_code": ["straight", "loops"], "pixels_along": ["row", "column"],
          "scan": ["rolling", "windows", "strips", "rows_first", "tap_by_tap", "passes", "trailing", "rolling_sums", "van_herk"]}
SPEC = re.compile(r"(adaptive_|global_)?(\w+?)_pool(\d)d\((\w+)\[([^\]]*)\](?::(\w+))?")


# Facts that are "LOW to HIGH", with what they are compared by.
SPANS = {"measured": str, "load": float}


def joined_span(one, other, key):
    """"0.50 to 0.98, 2 processors" and "0.20 to 0.70, 2 processors" are "0.20 to 0.98, 2 processors"."""
    ends = [text.partition(",")[0].split(" to ") for text in (one, other)]
    low, high = min((end[0] for end in ends), key=key), max((end[-1] for end in ends), key=key)
    return f"{low} to {high}" + "".join(one.partition(",")[1:])


def pooljit(*arguments, **variables):
    """What build/pooljit prints (another one: POOLJIT=PATH), in an environment with these variables too. Where it fails, this ends."""
    return run(os.environ.get("POOLJIT", pathlib.Path(__file__).parents[2] / "build/pooljit"), arguments, {**os.environ, **variables})


def run(command, arguments, environment=None, text=None):
    done = subprocess.run([command, *arguments], env=environment, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command} {' '.join(arguments[:1])}: {done.stderr}")
    return done.stdout


class Table:
    """facts: a dict; layers: rows by (isa, spec), each schedule once."""

    def __init__(self, facts=None):
        self.facts = dict(facts or {})
        self.layers = collections.defaultdict(dict)

    def put(self, isa, spec, row):
        self.layers[isa, spec][row.schedule] = row

    def rows(self, layer):
        return list(self.layers[layer].values())

    def add(self, other, source):
        """The later one of two rows for the same stays."""
        for name in SHARED:
            if other.facts.get(name) != self.facts.setdefault(name, other.facts.get(name)):
                sys.exit(f"{source}: {name} is {other.facts.get(name)!r}, of the others {self.facts[name]!r}: each gets a table of its own")
        for name, value in other.facts.items():
            own = self.facts.setdefault(name, value)
            if name in SPANS:
                self.facts[name] = joined_span(own, value, SPANS[name])
        for key, rows in other.layers.items():
            self.layers[key].update(rows)


def parse(schedule):
    """The fields of a schedule; those of other families are "1" or "-"."""
    family, _, rest = schedule.replace(STREAMED, "").partition("(")
    fields = {"family": family, **{name: "1" if "1" in words else "-" for name, words in FIELDS.items()}}
    fields.update(word.split("=") for word in rest.rstrip(")").split(", "))
    return fields


def key(fields, *left_out):
    return tuple(sorted(item for item in fields.items() if item[0] not in left_out))


class Measured:
    """Seconds of a layer's schedules. Of those that make one Program a sweep has one: one that was not measured takes as long as the
    slowest of those that differ in their tail, in how their taps are code (`separable`: in their scan), or in both.
    """

    def __init__(self, rows):
        self.seconds = {row.schedule: row.seconds for row in rows}
        self.by_fields = None  # made when first asked

    def of(self, schedule):
        """None: nobody measured it."""
        found = self.seconds.get(schedule.replace(STREAMED, ""))
        return self.of_fields(parse(schedule)) if found is None else found

    def of_fields(self, fields):
        if self.by_fields is None:
            self.by_fields = {}
            for schedule, seconds in self.seconds.items():
                for form in self.forms(parse(schedule)):
                    self.by_fields[form] = max(seconds, self.by_fields.get(form, 0))
        return next((self.by_fields[form] for form in self.forms(fields) if form in self.by_fields), None)

    @staticmethod
    def forms(fields):
        code = "scan" if fields["family"] == "separable" else "tap_code"
        for left_out in ((), ("tail",), (code,), ("tail", code)):
            yield key(fields, *left_out)


def open_text(path, mode="rt"):
    return lzma.open(path, mode, encoding="utf-8", **({"preset": 9 | lzma.PRESET_EXTREME} if "w" in mode else {})) \
        if str(path).endswith(".xz") else open(path, mode, encoding="utf-8")


def read(path):
    table = Table()
    with open_text(path) as file:
        if file.readline().rstrip("\n") != TITLE:
            sys.exit(f"{path}: it does not begin with '{TITLE}': bench/choose/pack makes such tables")
        for number, line in enumerate(file, 2):
            fields = line.rstrip("\n").split("\t")
            if line.startswith("# "):
                table.facts[fields[0][2:]] = "\t".join(fields[1:])
            elif len(fields) == len(COLUMNS):
                isa, spec, schedule, seconds, spread, flags = fields
                table.put(isa, spec, Row(schedule, float(seconds), float(spread) if spread else None, flags))
            else:
                sys.exit(f"{path}:{number}: {len(fields)} fields, not {len(COLUMNS)}")
    return table


def ask(table, isa, most, every=1):
    """What `pooljit schedules --shortlist` says of every so manieth layer of an instruction set, on the table's machine."""
    specs = [spec for number, (own, spec) in enumerate(table.layers) if own == isa and number % every == 0]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(specs) + "\n")
        file.flush()
        listed = pooljit("schedules", "--file", file.name, "--isa", isa, "--shortlist", str(most), "--json",
                         POOLJIT_MACHINE=table.facts["machine"])
    return [json.loads(line) for line in listed.splitlines()]


def leave_out_impossible(table):
    """Layers with a call that would have moved more than a core can: the default that took turns with it was disturbed."""
    left_out = 0
    for isa in sorted({isa for isa, _ in table.layers}):
        for row in ask(table, isa, 1):
            key = isa, row["spec"]
            if row["bytes"] >= FAR_BYTES and any(row["bytes"] > MOST_RATE * one.seconds for one in table.rows(key)):
                del table.layers[key]
                left_out += 1
    return left_out


def write(table, path):
    left_out = leave_out_impossible(table)
    if left_out:
        table.facts["left out"] = f"{left_out} layers with a call that would have moved more than {MOST_RATE / 1e9:.0f} GB/s"
    rows = [row for layer in table.layers.values() for row in layer.values()]
    table.facts["layers"] = str(len(table.layers))
    table.facts["schedules"] = str(len(rows))
    spreads = [row.spread for row in rows if row.spread is not None]
    if spreads:
        table.facts["noise"] = (f"the median spread is {statistics.median(spreads):.1f} %, "
                                f"{sum('x' in row.flags for row in rows) / len(rows):.0%} of the rows are of a disturbed machine")
    aside = pathlib.Path(path).with_name("aside-" + pathlib.Path(path).name)
    with open_text(aside, "wt") as file:
        print(TITLE, file=file)
        for name, value in table.facts.items():
            print(f"# {name}\t{value}", file=file)
        print("# columns\t" + " ".join(COLUMNS), file=file)
        for (isa, spec), layer in table.layers.items():
            for row in layer.values():
                spread = "" if row.spread is None else f"{row.spread:.0f}"
                print(isa, spec, row.schedule, f"{row.seconds:.5g}", spread, row.flags, sep="\t", file=file)
    aside.rename(path)


def read_rows(path):
    """The table of a file of `pooljit tune --samples`, of the layers that were done: of others nobody knows the winner.

    Ratios to the default beside each row take out what drifts.
    """
    table, rows = Table(), collections.defaultdict(dict)
    loads, dates = [], []
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                break  # it was cut off
            try:
                row = json.loads(line)
                machine, versions = row["machine"], row["versions"]
                facts = {"cpu": machine["cpu"], "machine": machine["row"], "caches": machine["caches"], "threads": str(machine["threads"]),
                         "backend": machine["backend"], "pooljit": versions["pooljit"]}
                if any(table.facts.setdefault(name, value) != value for name, value in facts.items()):
                    sys.exit(f"{path}:{number}: another machine or version than above")
                table.facts.update(compiler=versions["compiler"], system=versions["system"])
                rows[machine["isa"], row["spec"]][row["schedule"]] = row
                if row["conditions"]["load"] is not None:
                    loads.append(row["conditions"]["load"])
                dates.append(row["timestamp"])
            except (ValueError, KeyError, TypeError) as error:
                sys.exit(f"{path}:{number}: no row of `pooljit tune --samples`: {error!r}")
    for (isa, spec), layer in rows.items():
        if len(layer) < max(row.get("space", 0) for row in layer.values()):
            continue
        reference = statistics.median(row["reference"]["median"] for row in layer.values())
        for row in layer.values():
            flags = ("d" if row["default"] else "") + ("x" if row["disturbed"] else "")
            table.put(isa, spec, Row(row["schedule"], row["ratio"] * reference, 100 * row["spread"], flags))
    if dates:
        table.facts["measured"] = f"{min(dates)} to {max(dates)}"
    if loads:
        table.facts["load"] = f"{min(loads):.2f} to {max(loads):.2f}, {row['conditions']['processors']} processors"
    return table


def name_of(path):
    return pathlib.Path(path).name.partition(".")[0]


def choices(table, most, every=1):
    """Of every so manieth layer of each instruction set: today's default and what measure=most looks at beside it, by (isa, spec)."""
    found = {}
    for isa in sorted({isa for isa, _ in table.layers}):
        found.update({(isa, row["spec"]): row["schedules"] for row in ask(table, isa, most, every) if row["schedules"]})
    return found


def without_each_rule(table, isa):
    """By spec, today's default and by name of each rule that applies, what would be the default without it."""
    specs = [spec for own, spec in table.layers if own == isa]
    command = pathlib.Path(__file__).parents[2] / "build/bench/left_out_rules"
    found = collections.defaultdict(dict)
    for line in run(command, [isa, table.facts["machine"]], text="\n".join(specs) + "\n").splitlines():
        rule, spec, schedule = line.split("\t")
        found[spec][rule] = schedule
    return {spec: (choices.pop("-"), choices) for spec, choices in found.items()}


def facts_of(spec):
    """Of a layer: dtype, layout, reduction, rank, and what else it has."""
    found = SPEC.match(spec)
    if not found:
        return {"dtype": "other", "layout": "other", "reduction": "other", "rank": "other"}
    kind, reduction, rank, dtype, _, layout = found.groups()
    if "return_indices" in spec:
        reduction += " with indices"
    elif reduction == "avg" and re.search(r"padding=(?!0\b)", spec):
        reduction += " without padding" if "count_include_pad=False" in spec else " with padding"
    return {"dtype": dtype, "layout": layout or "nchw", "reduction": (kind or "") + reduction, "rank": f"{rank}-D"}


def lying(spec):
    """Whether the layer's neighbours in memory are channels of one pixel or columns of one row (ir/choose/lying.h)."""
    return "pixels" if facts_of(spec)["layout"] == "nhwc" else "planes"
