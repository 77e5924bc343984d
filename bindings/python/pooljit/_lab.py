"""What fuzzers and tuners need: random layers, the oracle, comparing results, schedules and their times."""
import collections

from . import _core
from . import _words as words
from ._spec import Spec, text_of

Reference = collections.namedtuple("Reference", "output indices bound")
Reference.__doc__ = """What the oracle makes of an input. Packed numpy arrays in the logical shape.

    output: the exact result, rounded once.
    indices: None of a layer that gives none.
    bound: float64, how far each output of a right engine may be from it; 0 of maxima and integers.
"""
ScheduleInfo = collections.namedtuple("ScheduleInfo", "schedule predicted_seconds is_default")
ScheduleInfo.__doc__ = "A schedule, for compile(..., schedule=); its predicted time, good for an order and no more; None: not asked for."
Rule = collections.namedtuple("Rule", "name about evidence")
Rule.__doc__ = """A row of the table that chooses, which applied to a layer.

    about: what it says (1: yes, 0: no, or a number) about what; evidence: what was measured for it.
"""
FamilyVerdict = collections.namedtuple(
    "FamilyVerdict", "family verdict reason schedule schedules filled_lanes predicted_seconds price rules")
FamilyVerdict.__doc__ = """What a family of schedules was asked for a layer, and what came of it.

    verdict: "offered", "left to others", "refused" or "not asked"; reason: the sentence of one that did not offer.
    schedule, schedules, filled_lanes: its first, how many it has, lanes of a vector that its first fills.
    predicted_seconds, price: of a call on one thread; cycles per output by part ("load", ..., "memory").
    rules: Rules that applied to the layer when the family was asked.
"""


Samples = collections.namedtuple("Samples", "machine layers within_5_percent mean_loss worst_loss")
Samples.__doc__ = """How defaults of one family did beside all schedules of random layers, on one machine.

    layers: how many; within_5_percent: the share of them whose default took at most 1.05 times the fastest schedule's time.
    mean_loss, worst_loss: the default's time over the fastest schedule's, geometric mean and at worst.
"""


class Explanation(
        collections.namedtuple(
            "Explanation", "schedule decided_by second_over_first isa machine output_leaves_the_caches "
            "families samples spec members text")):
    """Why a layer gets its schedule where nothing was measured. str() of it is what `pooljit schedules --why` prints.

    schedule, decided_by: the default, and what put it first.
    second_over_first: predicted time of the best other family's first schedule over the default's; 0: there is none.
    isa, machine: what thresholds come from.
    output_leaves_the_caches: stores pass the caches by, where that suits.
    families: FamilyVerdicts.
    samples: Samples of layers of this dtype and layout whose default was of the same family, machine by machine.
    members: of several pools, which have no families of their own: why each has the schedule that it has alone; spec
    says which it is.
    """

    __slots__ = ()

    def __str__(self):
        return self.text


Timing = collections.namedtuple("Timing", "seconds spread samples")
Timing.__doc__ = "The median of a call in seconds; half the distance of the quartiles, as a share of it; how many times."
TuneResult = collections.namedtuple("TuneResult", "schedule best default legal measured proof notes")
TuneResult.__doc__ = """What tune() found.

    schedule: the winner; best, default: Timings of it and of the default schedule.
    legal, measured: how many schedules there are, and how many were measured.
    proof: "verify" the code was proved, "check" all engines agreed, "default" nothing was replaced.
    notes: what was faster and not taken, and why.
"""


class Comparison(collections.namedtuple("Comparison", "verdict differences where")):
    """What is wrong with a result. True if nothing is.

    verdict: "right", "known" (a known difference explains it) or "wrong".
    differences: the names of the known differences, keys of pooljit.differences.
    where: the first element that no engine may give, with both values; "" if right.
    """

    __slots__ = ()

    def __bool__(self):
        return self.verdict == "right"


def random_specs(seed, plain=False):
    """Random valid layers, small enough for the oracle: the same for the same seed, without end.

    Args:
        seed: 0 to 2**32-1.
        plain: most options as usual, which is all that many engines do.

    >>> import itertools, pooljit
    >>> specs = list(itertools.islice(pooljit.random_specs(7), 3))
    >>> specs == list(itertools.islice(pooljit.random_specs(7), 3))
    True
    """
    return map(Spec, _core.RandomSpecs(words.integer("the seed", seed, 0, 2**32 - 1), words.truth("plain", plain)))


def reference(spec, input, indices=None, operands=()):
    """What the layer means for an input, tap by tap, and how far a right result may be from that.

    Args:
        spec: a text or Spec. Not an unpool.
        input: in the spec's logical shape and dtype, of any strides.
        indices: what a max_pool_backward reads.
        operands: of the epilogue.

    Returns:
        Reference(output, indices, bound); of several pools a list of them, one for each.

    >>> import numpy, pooljit
    >>> x = numpy.array([[[[0.1, 0.2], [0.3, 0.4]]]], numpy.float32)
    >>> r = pooljit.reference("avg_pool2d(float32[1,1,2,2], kernel_size=2)", x)
    >>> bool(abs(r.output - x.mean()) <= r.bound)
    True
    """
    found = _core.reference(text_of(spec), input, indices, words.array_list("operands", operands))
    return _of_pools([Reference(*row) for row in found])


def _of_pools(answers):
    return answers if len(answers) > 1 else answers[0]


def compare(spec, input, output, indices=None, operands=()):
    """Judges what an engine made of an input, by the oracle.

    Args:
        spec, input, operands: as of reference().
        output: the engine's result, in the logical shape.
        indices: its indices; of a max_pool_backward those that it read.

    Returns:
        Comparison(verdict, differences, where); true if the result is right.

    Of several pools output and indices are lists with an entry for each, and so is what is returned.

    >>> import numpy, pooljit
    >>> x = numpy.array([[[1, float("nan"), 3, 2]]], numpy.float32)
    >>> found = pooljit.compare("max_pool1d(float32[1,1,4], kernel_size=2)", x, numpy.float32([[[1, 3]]]))
    >>> found.verdict, found.differences
    ('known', ['nan_ignored'])
    >>> pooljit.compare("max_pool1d(float32[1,1,4], kernel_size=2)", x, numpy.float32([[[1, 2]]])).verdict
    'wrong'
    """
    outputs = list(output) if isinstance(output, (list, tuple)) else [output]
    places = list(indices) if isinstance(indices, (list, tuple)) else [indices] * len(outputs)
    found = _core.compare(text_of(spec), input, outputs, places, words.array_list("operands", operands))
    return _of_pools([Comparison("right" if not where else "known" if names else "wrong", names, where)
                      for where, names in found])


def schedules(spec, *, costs=False, **options):
    """Every schedule that keeps the rules of a layer, what compile chooses from first, best first.

    Takes some milliseconds at most. For some the registers may not suffice (compile says so), and several may make the
    same kernel.

    Args:
        costs: those that make another kernel each, with predicted_seconds, the cheapest first; up to some seconds.
        options: backend and isa, of pooljit.compile.

    >>> import pooljit
    >>> rows = pooljit.schedules("max_pool2d(float32[1,8,32,32], kernel_size=2)")
    >>> sum(row.is_default for row in rows)
    1
    """
    rows = _core.schedules(text_of(spec), words.truth("costs", costs), words.options(options))
    return [ScheduleInfo(*row) for row in rows]


def explain(spec, **options):
    """Why a layer gets its schedule: what each family offers, leaves to others or refuses, prices, what decided.

    Args:
        options: isa, of pooljit.compile.

    >>> import pooljit
    >>> why = pooljit.explain("max_pool2d(float32[1,8,32,32], kernel_size=2)")
    >>> why.schedule in [family.schedule for family in why.families]
    True
    """
    return _explanation(_core.explain(text_of(spec), words.options(options)))


def _explanation(fields):
    *head, families, samples, spec, members, text = fields
    return Explanation(*head, [_verdict(*one) for one in families], [Samples(*one) for one in samples], spec,
                       [_explanation(one) for one in members], text)


def _verdict(*fields):
    *head, rules = fields
    return FamilyVerdict(*head, [Rule(*one) for one in rules])


def evaluate(spec, schedule="", seconds=0.05, **options):
    """Compiles a layer with a schedule and times it on data of its own, without Python between the calls.

    Args:
        schedule: as schedules() lists them; "": the default.
        seconds: to measure for.
        options: of pooljit.compile; by default one thread.

    Raises:
        InvalidError, UnsupportedError: "schedule.*", one that does not suit the layer. A tuner takes it for
            infinitely slow.

    >>> import pooljit
    >>> spec = "max_pool2d(float32[1,8,32,32], kernel_size=2)"
    >>> best = min(pooljit.schedules(spec)[:3], key=lambda row: pooljit.evaluate(spec, row.schedule, 0.01))
    """
    options.setdefault("threads", 1)
    seconds = words.seconds(seconds)
    return Timing(*_core.compile(text_of(spec), words.options({**options, "schedule": schedule})).time(seconds))


def tune(spec, seconds=3.0, db=None, progress=None, **options):
    """Searches the fastest schedule of a layer on this machine. Ctrl-C stops it.

    A schedule replaces the default only if it is faster by more than the noise of both, and proved right.

    Args:
        seconds: for measuring.
        db: a file that the result is added to, as `pooljit tune` does (docs/tuning.md); compile(..., tune_db=) and
            POOLJIT_TUNE_DB use it.
        progress: called with a text before each step.
        options: backend, isa and threads, of pooljit.compile.

    >>> import pooljit
    >>> found = pooljit.tune("max_pool2d(float32[1,8,8,8], kernel_size=2)", seconds=0.05, threads=1)
    >>> kernel = pooljit.compile("max_pool2d(float32[1,8,8,8], kernel_size=2)", schedule=found.schedule)
    """
    if progress is not None and not callable(progress):
        words.refuse("progress", progress, "a function of a text")
    found = _core.tune(text_of(spec), words.options(options), words.seconds(seconds), words.path("db", db), progress)
    found["best"], found["default"] = Timing(*found["best"]), Timing(*found["default"])
    return TuneResult(**found)
