"""What is said where nobody wrote words: facts of the two syntax trees and of the verdict."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.leaks import leaked
from pytest_recode.program import source
from pytest_recode.researchers.researcher import researcher
from pytest_recode.verdict import Exc, Verdict
from tests.feedback.scene import INTERFACES, REFERENCE, STUB, case, parts, task, turn

WRONG = REFERENCE.replace("/ total", "* total")


def item(code: str | bytes | None, *cases: object, interface: str = "stats.mean") -> FeedbackItem:
    """What is said of `interface` where stats.py is `code`."""
    given = cases or (case(interface),)
    data = code.encode() if isinstance(code, str) else code
    candidate = {} if data is None else {"stats.py": data}
    items = derive(task((*INTERFACES, "stats")), parts(), candidate, Verdict(cases=given, seed=1))  # type: ignore[arg-type]
    return {each.interface: each for each in items}[interface]


def test_one_item_per_failing_interface_in_the_order_of_the_cases() -> None:
    cases = (case("stats.deviation"), case(passed=True), case("stats.Running.push"), case("stats.deviation"))
    items = derive(task(), parts(), {"stats.py": STUB.encode()}, Verdict(cases=cases, seed=1))
    assert [each.interface for each in items] == ["stats.deviation", "stats.Running.push"]


UNKNOWN = "The fault is in what `mean` does, or in what it or its hidden tests use."
SIGNATURES = {
    "nothing there": ("x = 1", "stats.py defines no `mean`.", "T0"),
    "still the stub": (STUB, "`mean` is still as the repository came with it.", "T0"),
    "one parameter less": (
        "def mean(values): return 1",
        "`mean` has the parameter `values`, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "two parameters less": (
        "def mean(): return 1",
        "`mean` has no parameters, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "renamed": (
        "def mean(values, w=None): return 1",
        UNKNOWN,
        "T2",
    ),
    "renamed and without a default": (
        "def mean(values, w): return 1",
        "`mean` has the parameters `values`, `w`, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "another one at another place": (
        "def mean(w, values): return 1",
        "`mean` has the parameters `w`, `values`, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "renamed, and any keywords": (
        "def mean(values, w=None, **more): return 1",
        UNKNOWN,
        "T2",
    ),
    "one more that must be given": (
        "def mean(values, weights=None, *, axis): return 1",
        "`mean` has the parameters `values`, `weights=None`, `*`, `axis`, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "no default": (
        "def mean(values, weights): return 1",
        "`mean` has the parameters `values`, `weights`, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "another order": (
        "def mean(weights=None, values=None): return 1",
        "`mean` has the parameters `weights=None`, `values=None`, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "a class": (
        "class mean: pass",
        "`mean` has no parameters, and its callers expect the parameters `values`, `weights=None`.",
        "T0",
    ),
    "one more with a default": (
        "def mean(values, weights=None, axis=0): return 1",
        UNKNOWN,
        "T2",
    ),
    "any keywords": (
        "def mean(values, **kwargs): return 1",
        UNKNOWN,
        "T2",
    ),
    "defined in a condition": (
        "if True:\n    def mean(values, weights=None): return 1",
        UNKNOWN,
        "T2",
    ),
    "no Python": ("def mean(:", "stats.py does not parse: invalid syntax (line 1).", "T1"),
    "no text": (b"\xff\xfe", "stats.py is not UTF-8 text.", "T1"),
    "null bytes": ("x = 1\0", "stats.py does not parse: source code string cannot contain null bytes", "T1"),
    "deleted": (None, "stats.py is missing.", "T1"),
    "huge": (b"#" * 2_000_000, "stats.py is larger than 1024 KiB.", "T1"),
}


@pytest.mark.parametrize(("code", "analysis", "category"), SIGNATURES.values(), ids=SIGNATURES)
def test_the_analysis_names_what_differs(code: str | bytes | None, analysis: str, category: str) -> None:
    found = item(code)
    if "null bytes" in analysis:  # its words are the interpreter's, and differ between versions
        assert found.analysis.startswith("stats.py does not parse: ")
    else:
        assert found.analysis == analysis
    assert found.category == category
    assert found.suggestion


@pytest.mark.parametrize(
    ("code", "suggestion"),
    [
        ("def mean(:", "Correct the syntax of stats.py: until then, nothing in it runs."),
        (None, "Write stats.py, which is missing."),
        (b"#" * 2_000_000, "Make stats.py smaller."),
        (b"\xff\xfe", "Write stats.py as UTF-8 text."),
    ],
)
def test_the_suggestion_for_a_file_that_cannot_be_imported_is_about_its_fault(
    code: str | bytes | None, suggestion: str
) -> None:
    assert item(code).suggestion == suggestion


@pytest.mark.parametrize(
    "code",
    [
        "(" * 200_000,
        "x" + ".x" * 100_000,
        "-" * 100_000 + "1",
        "def mean(values, weights=None):\n    return " + "+".join(["values"] * 20_000),
        "def mean(values=" + "-" * 900 + "1, weights=None): return 1",
    ],
    ids=["brackets", "dots", "signs", "sum", "default"],
)
def test_hostile_code_is_said_to_be_wrong_and_breaks_nothing(code: str) -> None:
    found = item(code)
    assert found.analysis
    assert "def mean" in found.correction


def test_a_method_is_found_in_its_class() -> None:
    assert item("class Running: pass", interface="stats.Running.push").analysis == (
        "The class Running in stats.py defines no `push`."
    )
    assert item("class Running:\n    def push(self, value): pass", interface="stats.Running.push").analysis == (
        "`push` has the parameter `value`, and its callers expect the parameters `value`, `weight=1.0`."
    )


NO_DEFINITION = {
    "assigned": ("mean = sum", "stats.mean"),
    "assigned in a condition": ("if True:\n    mean = sum", "stats.mean"),
    "imported": ("from tools import average as mean", "stats.mean"),
    "whatever a module has": ("from tools import *", "stats.mean"),
    "inherited": ("class Running(Base): pass", "stats.Running.push"),
    "assigned in a class": ("class Running:\n    push = print", "stats.Running.push"),
    "static": ("class Running:\n    @staticmethod\n    def push(value, weight=1.0): return 1", "stats.Running.push"),
    "decorated": ("@adapted\ndef mean(): return 1", "stats.mean"),
}


@pytest.mark.parametrize(("code", "interface"), NO_DEFINITION.values(), ids=NO_DEFINITION)
def test_what_may_be_there_without_a_definition_is_not_said_to_be_missing(code: str, interface: str) -> None:
    found = item(code, interface=interface)
    assert (
        found.analysis
        == f"The fault is in what `{interface.rpartition('.')[2]}` does, or in what it or its hidden tests use."
    )
    assert "efine the function" not in found.suggestion
    assert "Give `" not in found.suggestion


def test_code_that_ran_is_not_said_to_have_no_syntax() -> None:
    """The sandbox may have a later Python than the host."""
    code = "def mean(:"
    assert "does not parse" in item(code).analysis
    raised = Exc(type="ValueError", message="", frames=("stats.py:1 in mean: raise",))
    for ran in (case("stats.deviation", passed=True), case("stats.deviation", kind="exception", exception=raised)):
        found = item(code, case(), ran)
        assert found.analysis == UNKNOWN
        assert "syntax" not in found.suggestion


REFUSED = {
    "by name": ("mean() got an unexpected keyword argument 'weights'", True),
    "missing": ("mean() missing 1 required positional argument: 'w'", True),
    "of a module's function": ("somewhere.mean() takes 1 positional argument but 2 were given", True),
    "of another function": ("meaning() got an unexpected keyword argument 'weights'", False),
    "of an operation": ("unsupported operand type(s) for +: 'int' and 'str'", False),
}


@pytest.mark.parametrize(("message", "refused"), REFUSED.values(), ids=REFUSED)
def test_another_name_of_a_parameter_is_a_fault_only_if_a_call_was_refused(message: str, refused: bool) -> None:
    raised = Exc(type="TypeError", message=message, frames=())
    found = item("def mean(values, w=None): return 1", case(kind="exception", exception=raised))
    assert found.analysis.startswith(ANOTHER) == refused
    assert found.suggestion.startswith(RENAME) == refused
    assert ("`w=None`" in found.analysis) == ("Give `mean`" in found.suggestion) == refused
    assert found.category == ("T0" if refused else "T1")


ANOTHER = (
    "`mean` has the parameters `values`, `w=None`, and its callers expect the parameters `values`, `weights=None`."
)
RENAME = "Give `mean` the parameters `values`, `weights=None`, in this order."


def test_if_only_some_calls_were_refused_the_other_failures_have_their_advice() -> None:
    raised = Exc(type="TypeError", message=REFUSED["by name"][0])
    cases = (case(kind="exception", exception=raised), case())
    found = item("def mean(values, w=None): return 1", *cases)
    assert found.analysis.startswith(ANOTHER)
    assert found.suggestion.startswith(RENAME)
    assert "Go through `mean` step by step" in found.suggestion
    assert "step by step" not in item("def mean(values, w=None): return 1", cases[0]).suggestion


def test_another_name_of_a_parameter_comes_before_the_authors_text() -> None:
    words = {"stats.mean": {"analysis": "The weights are not used.", "suggestion": "Divide by the weights."}}
    refused = case(
        kind="exception", exception=Exc(type="TypeError", message="mean() got an unexpected keyword argument")
    )
    played = turn("def mean(values, w=None):\n    return sum(values) / 2\n", refused)
    [found] = researcher(task(), parts(words))([played], 3).items
    assert found.analysis.startswith(ANOTHER)
    assert found.analysis.endswith("The weights are not used.")
    assert found.suggestion == f"{RENAME} Divide by the weights."
    assert found.authors["analysis"] == found.authors["suggestion"] == "derived+task"


def test_a_parameter_that_no_call_can_name_may_have_any_name() -> None:
    authors = replace(parts(), reference={"stats.py": b"def mean(values, weights=None, /, *, axis=0): return 1\n"})
    code = b"def mean(values, w=None, /, *, axis=0): return 2\n"
    (found,) = derive(task(), authors, {"stats.py": code}, Verdict(cases=(case(),), seed=1))
    assert found.analysis == UNKNOWN


DEFAULTS = {
    "z=1.96": "`z=1.96`",
    "z=-1": "`z=-1`",
    "z='mean'": "`z='mean'`",
    "z=None": "`z=None`",
    "z=EPSILON": "`z` (has a default)",
    "z=(1, 2)": "`z` (has a default)",
    "z='a long text of theirs'": "`z` (has a default)",
    "*, z=False": "`*`, `z=False`",
    "z": "`z`",
}


@pytest.mark.parametrize(("parameter", "named"), DEFAULTS.items(), ids=DEFAULTS)
def test_parameters_are_named_with_their_defaults(parameter: str, named: str) -> None:
    authors = replace(parts(), reference={"stats.py": f"EPSILON = 1\ndef mean(x, {parameter}): return 1\n".encode()})
    for code, end in (
        ("", f"with the parameters `x`, {named}."),
        ("def mean(): 1", f"the parameters `x`, {named}, in this"),
    ):
        (found,) = derive(task(), authors, {"stats.py": code.encode()}, Verdict(cases=(case(),), seed=1))
        assert end in found.suggestion


def test_a_module_as_interface_names_each_definition_that_is_amiss() -> None:
    found = item("def mean(): pass\ndef deviation(values, *, ddof=1): pass", interface="stats")
    assert found.analysis == (
        "`mean` has no parameters, and its callers expect the parameters `values`, `weights=None`. stats.py defines no `Running`."
    )
    assert found.suggestion.startswith("Give `mean` the parameters `values`, `weights=None`, in this order.")
    assert found.correction == REFERENCE


def test_an_exception_is_told_by_its_place() -> None:
    raised = Exc(type="ZeroDivisionError", message="division by zero", frames=("stats.py:4 in mean: return 1 / 0",))
    found = item(WRONG, case(kind="exception", exception=raised), case(kind="exception", exception=raised))
    assert (found.category, found.analysis) == ("T1", "ZeroDivisionError is raised at stats.py:4 in mean.")


def test_of_a_missing_exception_it_is_not_said_that_all_come_before_the_work() -> None:
    """The instruction may ask for one that only a result can call for, such as the state after a step."""
    found = item(WRONG, case(kind="no-exception"))
    assert "for bad arguments before any other work" in found.suggestion
    assert "for a bad result as soon as there is that result" in found.suggestion
    assert "before anything else" not in found.suggestion


def test_a_missing_exception_and_another_one_are_told_once() -> None:
    found = item(WRONG, case(kind="no-exception"), case(kind="other-exception"))
    assert found.suggestion.count("Look in the instruction for which exception") == 1


def refused(line: int, text: str, kind: str = "SyntaxError") -> Exc:
    return Exc(type=kind, message="refused", frames=("tests.py:3 in f: import stats", f"stats.py:{line}: {text}"))


def test_a_file_that_parses_and_is_not_compiled_cannot_be_imported() -> None:
    """The grammar allows a late `from __future__` and a `return` outside a function; only the interpreter refuses them."""
    late = f"{WRONG}\nfrom __future__ import annotations\n"
    raised = refused(late.count("\n"), "from __future__ import annotations")
    found = [item(late, case(name, kind="exception", exception=raised), interface=name) for name in INTERFACES]
    for each in found:
        assert each.analysis.startswith(f"stats.py cannot be imported: SyntaxError in line {late.count(chr(10))}.")
        assert each.suggestion.startswith("Correct the syntax of stats.py: until then, nothing in it runs.")
        assert each.category == "T1"
        assert each.correction
        assert not each.caused_by
        assert not each.possible_causes


@pytest.mark.parametrize(
    "raised",
    [
        Exc(type="SyntaxError", message="refused", frames=("stats.py:3 in mean: ast.parse(text)",)),
        Exc(type="SyntaxError", message="refused", frames=("tools.py:3: def f(",)),
        Exc(type="ValueError", message="refused", frames=("stats.py:3: def f(",)),
        Exc(type="SyntaxError", message="refused"),
    ],
    ids=["raised by code that runs", "another file", "another exception", "no place"],
)
def test_other_exceptions_do_not_make_a_file_one_that_cannot_be_imported(raised: Exc) -> None:
    assert "cannot be imported" not in item(WRONG, case(kind="exception", exception=raised)).analysis


def test_an_exception_that_the_code_raises_on_purpose_is_no_line_to_repair() -> None:
    frames = ("stats.py:4 in mean: raise ValueError('weights')",)
    raised = Exc(type="ValueError", message="weights", frames=frames)
    suggestion = item(WRONG, case(kind="exception", exception=raised)).suggestion
    assert "fix the line" not in suggestion.lower()
    assert suggestion.startswith("Compare what `mean` raises, and when, with the instruction")
    by_accident = Exc(type="ValueError", message="weights", frames=("stats.py:4 in mean: raised(values)",))
    assert item(WRONG, case(kind="exception", exception=by_accident)).suggestion.startswith(
        "Find out why the exception is raised"
    )


def test_no_sentence_of_a_suggestion_is_said_twice() -> None:
    two = "def mean(values, weights=None): return values[0]\ndef deviation(values, *, ddof=1): return 0\n"
    for name in (*INTERFACES, "stats"):
        sentences = item(two, case(name), case(name, kind="shape"), interface=name).suggestion.split(". ")
        assert len(sentences) == len(set(sentences))


HELPER = "def _squares(values):\n    return sum(v * v for v in values)\n"


def test_advice_on_what_an_interface_uses_does_not_repeat_the_interfaces_symptom() -> None:
    """`_squares` is wrong, and is asked for no certain number of values."""
    wrong = REFERENCE.replace(HELPER, "def _squares(values):\n    return sum(abs(v) for v in values)\n")
    found = item(wrong, case("stats.deviation", kind="length"), interface="stats.deviation")
    assert "The fault is in what it uses: `_squares`" in found.analysis
    assert "Go through `_squares` step by step" in found.suggestion
    assert "how many values" not in found.suggestion


@pytest.mark.parametrize(("passes", "blamed"), [(True, "`_root`"), (False, "`mean`, `_root`")])
def test_an_interface_that_passes_is_not_suspected(passes: bool, blamed: str) -> None:
    body = "def deviation(values, *, ddof=1):\n    return _root(mean(values))\n\n\ndef _root(value):\n    return value\n\n\n"
    reference = f"def mean(values, weights=None):\n    return sum(values) / len(values)\n\n\n{body}"
    given = reference.replace("return value\n", "return -value\n").replace("/ len(values)", "/ max(len(values), 1)")
    authors = replace(parts(), reference={"stats.py": reference.encode()})
    cases = (case("stats.deviation"), *([case("stats.mean", passed=True)] if passes else []))
    (found,) = derive(task(), authors, {"stats.py": given.encode()}, Verdict(cases=cases, seed=1))
    assert f"in what it uses: {blamed}." in found.analysis


def test_code_of_the_repository_that_is_not_used_is_named() -> None:
    own = "def deviation(values, *, ddof=1):\n    return (sum(v * v for v in values) / (len(values) - ddof + 1)) ** 0.5"
    found = item(own, interface="stats.deviation")
    assert found.category == "T2"
    assert "Use what the repository has: `centre` (tools.py)." in found.suggestion


def test_what_a_helper_calls_is_called() -> None:
    own = "from tools import centre\n\ndef deviation(values, *, ddof=1):\n    return _root(values) + 1\n\ndef _root(values):\n    return {}"
    missing = item(own.format("values"), interface="stats.deviation").suggestion
    assert "Use what the repository has: `centre` (tools.py)." in missing
    there = item(own.format("math.sqrt(_squares(centre(values)))"), interface="stats.deviation")
    assert "repository" not in there.suggestion
    assert there.category == "T2"


DATACLASS = (
    "@dataclass(frozen=True)\nclass Running:\n    start: float = 0.0\n    def push(self): return Fraction.of(self)\n"
)
INIT = "class Running:\n    def __init__(self, start=0.0):\n        self.start = start\n    def push(self): return 0\n"
BASE = "class Running(tuple):\n    def push(self): return 0\n"


@pytest.mark.parametrize("given", [INIT, BASE])
@pytest.mark.parametrize("wanted", [DATACLASS, BASE])
def test_of_parameters_that_a_decorator_or_a_base_defines_nothing_is_said(given: str, wanted: str) -> None:
    authors = replace(parts(), reference={"stats.py": f"from fractions import Fraction\n{wanted}".encode()})
    verdict = Verdict(cases=(case("stats.Running"),), seed=1)
    (found,) = derive(task(("stats.Running",)), authors, {"stats.py": given.encode()}, verdict)
    assert found.category == "T2"
    assert "parameters" not in found.suggestion


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from a import b\ndef f(): b()", {"b"}),
        ("from .a import b as c\ndef f(): c()", {"b"}),
        ("import a.b as m\ndef f(): m.b()", {"b"}),
        ("import a.b\ndef f(): a.b.c()", {"c"}),
        ("from a import B\ndef f(): B.of()", {"of"}),
        ("def f(x): x.b(); b(); x().b()", set()),
    ],
)
def test_what_is_borrowed_has_its_name_at_home(text: str, found: set[str]) -> None:
    parsed = source.parse(text.encode())
    node = source.definition(parsed, ("f",))
    assert node is not None
    assert source.borrowed(parsed, node) == found


@pytest.mark.parametrize("code", [STUB, "x = 1", "def mean(values): return 1", REFERENCE.replace("/ total", "* total")])
@pytest.mark.parametrize("kind", ["mismatch", "shape", "dtype", "assertion", "timeout", "died", "protocol", "?"])
def test_words_below_l4_quote_no_line_of_the_reference(code: str, kind: str) -> None:
    for name in INTERFACES:
        found = item(code, case(name, kind), interface=name)
        words = "\n".join((found.description, found.analysis, found.suggestion))
        assert leaked(words, REFERENCE, parts().instruction + code, run=5) == ()


def lay_in(code: str, correction: str) -> dict[str, object]:
    """What the module holds after `correction` was appended to it: Python's own way of replacing definitions."""
    tools = {"centre": lambda values: values, "scale": lambda values: values}
    namespace: dict[str, object] = dict(tools)
    text = f"{code}\n{correction}".replace("from tools import", "# from tools import")
    exec(compile(text, "stats.py", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    "code",
    [
        STUB,
        "import math\n\ndef _squares(values):\n    return -1.0\n\ndef deviation(values, *, ddof=0):\n    return 0.0\n",
        "EPSILON = 5.0\n",
    ],
    ids=["stub", "wrong helper", "wrong constant"],
)
def test_a_correction_laid_in_makes_the_interface_right(code: str) -> None:
    correction = item(code, interface="stats.deviation").correction
    namespace = lay_in(code, correction)
    assert namespace["deviation"]([1.0, -1.0]) == pytest.approx(2**0.5)  # type: ignore[operator]


def test_a_correction_holds_what_the_candidate_lacks_and_no_more() -> None:
    same_helpers = REFERENCE.replace("(values) - ddof", "(values) + ddof")
    assert item(same_helpers, interface="stats.deviation").correction == (
        "def deviation(values, *, ddof=1):\n"
        '    """The standard deviation."""\n'
        "    centred = centre(values)\n"
        "    return math.sqrt(_squares(centred) / (len(values) - ddof + EPSILON))"
    )
    both = item(STUB, case(), case("stats.deviation"), interface="stats.deviation").correction
    assert "def mean" not in both
    names = [node.names[0].name for node in ast.parse(both).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert names == ["math", "centre"]


def test_a_method_is_corrected_by_its_whole_class() -> None:
    correction = item(STUB, interface="stats.Running.push").correction
    running = lay_in(STUB, correction)["Running"]
    assert running(1.0).push(2.0, 3.0) == 7.0  # type: ignore[operator]


def test_layout_and_docstrings_make_no_difference() -> None:
    one, other = (
        'def f(x):\n    """One."""\n    return x+1',
        "def f(x):\n    '''Two.'''\n\n    return (x + 1)  # more",
    )
    assert source.same(ast.parse(one), ast.parse(other))
    assert not source.same(ast.parse(one), ast.parse(other.replace("1", "2")))
