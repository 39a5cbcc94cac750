"""Tables as LaTeX: every text is printed as it is."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.render.report_latex import escaped, latex
from pytest_recode.render.report_table import Table, columns

PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textquotedbl{}": '"',
    **{f"\\{sign}": sign for sign in "{}$&#%_"},
}


def printed(text: str) -> str:
    """What LaTeX prints for escaped text."""
    return re.sub(r"\\text\w+\{\}|\\.|[{}]", lambda match: PRINTED.get(match[0], ""), text)


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=40))
def test_a_text_is_printed_as_it_is(text: str) -> None:
    found = escaped(text)
    assert printed(found) == " ".join(text.split())
    rest = re.sub(r"\\text\w+\{\}|\\[{}$&#%_]", "", found)
    assert not set(rest) & set('\\$&#%_^~<>|"')
    assert rest.count("{") == rest.count("}")


def test_a_table_has_its_rules_and_notes() -> None:
    table = Table(
        name="episodes",
        title="Solved & how",
        columns=(*columns("text", model="model"), *columns("percent", recall="recall %")),
        rows=({"model": "[gpt_4]\n\\input{/etc/passwd}", "recall": 50.0}, {"model": "b", "recall": None}),
        notes=("100% of them",),
    )
    text = latex([table], ["a note\n\\end{document}"])
    assert "\\begin{tabular}{lr}\n    \\toprule\n    model & recall \\% \\\\\n    \\midrule\n" in text
    assert (
        "    {[gpt\\_4] \\textbackslash{}input\\{/etc/passwd\\}} & 50.00 \\\\\n    b & - \\\\\n    \\bottomrule\n"
        in text
    )
    assert "\\caption{Solved \\& how}" in text
    assert "\\par\\footnotesize 100\\% of them" in text
    assert text.splitlines()[0] == "% needs \\usepackage{booktabs}"
    assert text.splitlines()[-1] == "% a note\\n\\end{document}"


def test_a_star_is_explained_below_each_table_that_has_one() -> None:
    def table(name: str, model: str) -> Table:
        return Table(name=name, title=name, columns=columns("text", model="model"), rows=({"model": model},))

    text = latex([table("one", "sim/novice *"), table("other", "gpt")], ["* simulated: offline", "another note"])
    one, other = text.split("\\end{table}")[:2]
    assert "  \\par\\footnotesize {* simulated: offline}\n" in one
    assert "footnotesize" not in other
    assert text.splitlines()[-2:] == ["% * simulated: offline", "% another note"]
