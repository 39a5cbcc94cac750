"""Whatever a model writes is done exactly as it was meant, or not at all."""

from __future__ import annotations

import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.forms import PARTS
from pytest_recode.agents.outside_code import Known
from pytest_recode.agents.protocol import parse, parts_of, render
from pytest_recode.agents.step_checks import lost
from tests.agents.spellings import AS_JSON, EXACT, FAULTY, PATH, VERBATIM

CODE = '''\
"""Entropic optimal transport.

Uses log-sum-exp.
"""
import numpy as np


def solve(cost, eps=0.1):
    kernel = np.exp(-cost / eps)  # K
    if not np.isfinite(kernel).all():
        raise ValueError(f"text: {eps!r}\\n")

    return kernel / kernel.sum(1, keepdims=True)'''


@pytest.mark.parametrize("name", EXACT)
def test_a_spelling_is_understood(name: str) -> None:
    text = "import numpy as np\n\n\ndef solve(x):\n    return 2 * x"
    read = parse(EXACT[name](text))
    assert isinstance(read, Step), read
    whole = name not in AS_JSON | VERBATIM and name != "YAML literal, stripped"
    write = Action(kind="write", arguments={"path": PATH, "text": f"{text}\n" if whole else text})
    assert read.actions == (write, Action(kind="submit"))


SHORT = {
    **{f"### Action: run\n{named}$ ls -la": [("run", {"command": "ls -la"})] for named in ("", "command: ")},
    '<tool name="read" path="a.py"/>': [("read", {"path": "a.py"})],
    '<tool name="list" path="src"/>\n<submit/>': [("list", {"path": "src"}), ("submit", {})],
    '<invoke name="read" path="a.py"><parameter name="lines">1-2</parameter></invoke>': [
        ("read", {"path": "a.py", "lines": "1-2"})
    ],
    "### Action: read\npath: **a.py**": [("read", {"path": "a.py"})],
    '{"action": "list", "path": "**/a"}': [("list", {"path": "**/a"})],
    "### Action: run\n```console\n$ ls -la\n```": [("run", {"command": "ls -la"})],
    '{"action": "run", "command": "$ ls -la"}': [("run", {"command": "ls -la"})],
    **{
        f"### Action: run\n{before}$ {command}{after}": [("run", {"command": command})]
        for command in ('python -c "\nimport a\nprint(a)\n"', "cat > a.py <<'E'\nx = '$'\nE")
        for before, after in (("", "\n"), ("command <<DONE\n", "\nDONE\n"), ("```bash\n", "\n```\n"))
    },
    '{"action": "read", "args": {"path": "a.py",},}': [("read", {"path": "a.py"})],
    '[{"action": "list"},\n{"action": "submit"},\n]': [("list", {}), ("submit", {})],
    '{"action": "write", "args": {"path": "a.py", "text": "x = [1,]\\ny = {2, }\\n\\",]",}}': [
        ("write", {"path": "a.py", "text": 'x = [1,]\ny = {2, }\n",]'})
    ],
    "### Action: grep\npattern: x\ninclude: *.py\n": [("grep", {"pattern": "x", "include": "*.py"})],
    **{
        f"### Action: write\npath: {path}\ntext <<E\nx\nE": [("write", {"path": path.strip("\"'`"), "text": "x\n"})]
        for path in (
            "data (1).csv",
            "my notes.md",
            "a b/c d.txt",
            "'data (1).csv'",
            '"a.py (new)"',
            "`C # notes.md`",
            "[1].txt",
            "a*b?.py",
        )
    },
    '{"action": "write", "path": "\\"a.py (new)\\"", "text": "x"}': [("write", {"path": "a.py (new)", "text": "x"})],
    '{"action": "write", "path": "`data (1).csv`", "text": "x"}': [("write", {"path": "data (1).csv", "text": "x"})],
    "### Action: write 'data (1).csv'\ntext <<E\nx\nE": [("write", {"path": "data (1).csv", "text": "x\n"})],
    '### Action: write\n```csv title="data (1).csv"\nx\n```': [("write", {"path": "data (1).csv", "text": "x\n"})],
    "### Action: write a.txt\ntext <<E\nx\nE\n### Action: write b.txt\ntext <<E\ny\nE\n": [
        ("write", {"path": "a.txt", "text": "x\n"}),
        ("write", {"path": "b.txt", "text": "y\n"}),
    ],
    "### Action: write a.txt\ntext <<E\nx\nE\n### Action: edit b.txt\nold <<E\nx\nE\nnew <<E\ny\nE\n": [
        ("write", {"path": "a.txt", "text": "x\n"}),
        ("edit", {"path": "b.txt", "old": "x", "new": "y"}),
    ],
    **{
        f"{head}\n```{shell}\ncat a b\nls\n```": [("run", {"command": "cat a b\nls"})]
        for head in ("### Action", "**Action:**", "### Action:\n")
        for shell in ("bash", "sh", "shell", "console")
    },
    "### Action\n```bash\ngrep -n x a.py\n```\n\nI wait.": [("run", {"command": "grep -n x a.py"})],
    "### Action\n```bash\nls\n```\ntimeout: 5": [("run", {"command": "ls", "timeout": "5"})],
    "### Action\n```bash\nread\npath: a.py\n```": [("read", {"path": "a.py"})],
    "### Action\n```bash\n[ -f a.py ] && ls\n```": [("run", {"command": "[ -f a.py ] && ls"})],
    '### Action\n```bash\n{"action": "read", "path": "a.py"}\n```': [("read", {"path": "a.py"})],
    "### Action: run `sha256sum a.py`": [("run", {"command": "sha256sum a.py"})],
    "### Action: `run sha256sum a.py`": [("run", {"command": "sha256sum a.py"})],
    "### Action: `run` sha256sum a.py": [("run", {"command": "sha256sum a.py"})],
    "### Action: run\ncommand: `ls -la`": [("run", {"command": "ls -la"})],
    '<read path="numerics.py" />': [("read", {"path": "numerics.py"})],
    '<run command="ls -la"/>\n<submit/>': [("run", {"command": "ls -la"}), ("submit", {})],
    "<write path='a.py'>\n<text>\nx\n</text>\n</write>": [("write", {"path": "a.py", "text": "x\n"})],
    "<run>cat a.py | grep x</run>": [("run", {"command": "cat a.py | grep x"})],
    "<run>\ncd src\nls\n</run>\n<submit/>": [("run", {"command": "cd src\nls"}), ("submit", {})],
    "<read>a.py</read>": [("read", {"path": "a.py"})],
    "### Action: list .": [("list", {"path": "."})],
    "### Action: submit.": [("submit", {})],
    "### Action: submit ###": [("submit", {})],
    "### Action: submit()": [("submit", {})],
    "# Action: submit": [("submit", {})],
    '{"thought": "It is done.", "action": "submit", "args": {}}': [("submit", {})],
    '{"type": "function", "name": "read", "parameters": {"path": "a.py"}}': [("read", {"path": "a.py"})],
    '### Action: read(path="a.py")': [("read", {"path": "a.py"})],
    "### Action: list_files": [("list", {})],
    "### Action: read file.py": [("read", {"path": "file.py"})],
    "### Action: read\nfile: src/a.py": [("read", {"path": "src/a.py"})],
    "### Action: read\npath: a.py\nview_range: [1, 40]": [("read", {"path": "a.py", "lines": "[1, 40]"})],
    '{"action": {"type": "read", "path": "a.py"}}': [("read", {"path": "a.py"})],
    '{"thought": "x", "actions": [{"type": "write", "path": "n.txt", "text": "one"}]}': [
        ("write", {"path": "n.txt", "text": "one"})
    ],
    '<tool_call>\n{"name": "read", "arguments": {"path": "a.py", "start_line": 1, "end_line": 14}}\n</tool_call>': [
        ("read", {"path": "a.py", "lines": "1-14"})
    ],
    "**a.py** has this:\n```python\nx = 1\n```\n### Action: list": [("list", {})],
    "**a.py**\n```python\nx = 1\n```\n### Action: write\npath: a.py\ntext <<E\nx = 1\nE": [
        ("write", {"path": "a.py", "text": "x = 1\n"})
    ],
    "### Action: edit\npath: a.py\nold <<E\nx \nE\nnew: y": [("edit", {"path": "a.py", "old": "x ", "new": "y"})],
    '{"action": "view", "args": {"path": "a.py", "view_range": [5, -1]}}': [("read", {"path": "a.py", "lines": "5-"})],
    **{f"### Action: grep\npattern: {mark}def f{mark}": [("grep", {"pattern": "def f"})] for mark in "`'\""},
    "### Action: grep\npattern: `def \\w+\\(`": [("grep", {"pattern": "def \\w+\\("})],
    **{f"### Action: run\ncommand: {mark}ls -la{mark}": [("run", {"command": "ls -la"})] for mark in "`'\""},
    **{
        f"### Action: edit a.py\nold: {mark}    return x{mark}\nnew: {mark}    return -x{mark}": [
            ("edit", {"path": "a.py", "old": "    return x", "new": "    return -x"})
        ]
        for mark in "`'\""
    },
    "### Action: run\ncommand: python -c \"\nimport numpy as np\n\nprint(np.arange(3), 'it\\'s')\n\"\n\n### Action: submit": [
        ("run", {"command": "python -c \"\nimport numpy as np\n\nprint(np.arange(3), 'it\\'s')\n\""}),
        ("submit", {}),
    ],
    "### Action: run\ncommand: python -c '\nprint(1)\n' | wc -l\ntimeout: 5": [
        ("run", {"command": "python -c '\nprint(1)\n' | wc -l", "timeout": "5"})
    ],
    '<|python_tag|>{"name": "read", "parameters": {"path": "a.py"}}<|eom_id|>': [("read", {"path": "a.py"})],
    '<|python_tag|>[\n  write(path="a.py", text="""s = "<|eom_id|>"\n)"""),\n  submit(),  # )\n]<|eom_id|>': [
        ("write", {"path": "a.py", "text": 's = "<|eom_id|>"\n)'}),
        ("submit", {}),
    ],
    '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.py"}<|call|>'
    "<|start|>assistant<|channel|>final<|message|>I read it.\nThen I edit it.<|return|>": [("read", {"path": "a.py"})],
    "## Observation\nNone.\n\n## Action\n\n### Action: grep\npattern: x\n\n### Action: submit": [
        ("grep", {"pattern": "x"}),
        ("submit", {}),
    ],
    "## 1. Observation\nNone.\n\n## 2. Actions\n\n### Action 1: grep\npattern: x\n\n### Action 2: submit": [
        ("grep", {"pattern": "x"}),
        ("submit", {}),
    ],
    "<task_progress>\n- [ ] read\n</task_progress>\n<read_file>\n<path>a.py</path>\n</read_file>": [
        ("read", {"path": "a.py"})
    ],
    '[TOOL_CALLS] [{"name": "read", "arguments": {"path": "a.py"}}]': [("read", {"path": "a.py"})],
    "### Action: read\npath: a.py\n\n**Summary:** the bound is wrong.": [("read", {"path": "a.py"})],
    "### Action: read\npath: a.py\n\n**Next steps**: I edit it.": [("read", {"path": "a.py"})],
    "<tool_call>\n<function=write>\n<parameter=path>\nx.txt\n</parameter>\n<parameter=text>\n\n  one\n\n</parameter>\n</function>\n</tool_call>\n"
    "<tool_call>\n<function=run>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>": [
        ("write", {"path": "x.txt", "text": "\n  one\n"}),
        ("run", {"command": "ls"}),
    ],
    "### Observation\nL4 gives:\n```python file=a.py interface=a.f\nx = 1\n```\n### Action: edit\npath: a.py\nold: y\nnew: x": [
        ("edit", {"path": "a.py", "old": "y", "new": "x"})
    ],
    "```\n### Action: read\npath: a.py\n```\n\n```\n### Action: list\n```": [("read", {"path": "a.py"}), ("list", {})],
    "### Action: grep\npattern: class \n": [("grep", {"pattern": "class"})],
    "### Action\uff1aedit\npath\uff1aa.py\nold\uff1ax\nnew\uff1ay": [
        ("edit", {"path": "a.py", "old": "x", "new": "y"})
    ],
    "Action\uff1aread\npath\uff1aa.py": [("read", {"path": "a.py"})],
    '<tool_call>\n{"name": "write", "arguments": {"path": "a.py", "text": "x = 1\nprint(\\"a\\")\n"}}\n</tool_call>': [
        ("write", {"path": "a.py", "text": 'x = 1\nprint("a")\n'})
    ],
    '<invoke name="str_replace_based_edit_tool"><parameter name="command">str_replace</parameter><parameter name="path">a.py</parameter>'
    '<parameter name="old_str">x</parameter><parameter name="new_str">y</parameter></invoke>': [
        ("edit", {"path": "a.py", "old": "x", "new": "y"})
    ],
    "### Action: run\ncommand: ls\ntimeout: 60": [("run", {"command": "ls", "timeout": "60"})],
    "### Action: run\ntimeout: 60\n```bash\nls\npwd\n```": [("run", {"command": "ls\npwd", "timeout": "60"})],
    "### Action: run\n```\ntimeout: 60\ncommand: ls\n```": [("run", {"command": "ls", "timeout": "60"})],
    '{"action": "bash", "args": {"command": "ls", "timeout": 60}}': [("run", {"command": "ls", "timeout": "60"})],
    "### Action: run\ncommand: ls\nis_background: false\ndescription: List them.": [("run", {"command": "ls"})],
    "### Action: edit\npath: a.py\nold: x\nnew: y\nreplace_all: false": [
        ("edit", {"path": "a.py", "old": "x", "new": "y"})
    ],
    "### Action: edit\npath: a.py\nold: x\nnew: y\nreplace_all: True": [
        ("edit", {"path": "a.py", "old": "x", "new": "y", "replace_all": "true"})
    ],
    "### Action: list\npath: src\nrecursive: true": [("list", {"path": "src"})],
    "### Action: run\ncommand: ls\n```": [("run", {"command": "ls"})],
    "<action>run: ls -la</action>": [("run", {"command": "ls -la"})],
    '<action>read(path="a.py")</action>': [("read", {"path": "a.py"})],
    "### Action: read\nsrc/a.py": [("read", {"path": "src/a.py"})],
    "### Action: bash\n```bash\nls\npwd\n```": [("run", {"command": "ls\npwd"})],
    **{
        f"### Action: run\n{named}```{shell}\nls\npwd\n```": [("run", {"command": "ls\npwd"})]
        for named in ("", "command:\n", "command: ")
        for shell in ("", "bash", "sh", "shell", "console", "zsh", "Bash title=x")
    },
    "### Action: run\n`ls -la`": [("run", {"command": "ls -la"})],
    "### Action: run\n`ls -la`\ntimeout: 5": [("run", {"command": "ls -la", "timeout": "5"})],
    "Action: read\nAction Input: mbar/report.py": [("read", {"path": "mbar/report.py"})],
    "Action: run\nAction Input: `ls -la`": [("run", {"command": "ls -la"})],
    "Action: list\nAction Input: src": [("list", {"path": "src"})],
    **{
        f"Action: {kind}\nAction Input:{none}": [(kind, {})]
        for kind in ("submit", "list")
        for none in (" None", " {}", ' ""', " null", "")
    },
    "### Action: read\npath: a.py\nstart_line: 3\nend_line: 9": [("read", {"path": "a.py", "lines": "3-9"})],
    "### Action: read\nend_line: 9\nstart_line: 3\npath: a.py": [("read", {"path": "a.py", "lines": "3-9"})],
    "### Action: read\npath: a.py\nstart_line: 3\nend_line: -1": [("read", {"path": "a.py", "lines": "3-"})],
    "### Action: read\npath: a.py\nstart_line: 3": [("read", {"path": "a.py", "lines": "3-"})],
    "### Action: read\npath: a.py\nlines: 2-\nstart_line: 2": [("read", {"path": "a.py", "lines": "2-"})],
    "### Action: read\npath: a.py\nfirst_line: 3\nlast_line: 9": [("read", {"path": "a.py", "lines": "3-9"})],
    "### Action: read\npath: a.py\noffset: 10\nlimit: 20": [("read", {"path": "a.py", "lines": "10-29"})],
    "<write_to_file>\n<path>a.txt</path>\n<content>\nx\n</content>\n<task_progress>\n- [x] write\n</task_progress>\n</write_to_file>": [
        ("write", {"path": "a.txt", "text": "x\n"})
    ],
    "### Action: submit\nThat is all. It should pass now.": [("submit", {})],
    "### Action: shell\ncmd: ls": [("run", {"command": "ls"})],
    "### Action: run\ncommand: |\n  cd src\n  ls": [("run", {"command": "cd src\nls"})],
    "### Action: run\ncommand: python a.py \\\n  --flag": [("run", {"command": "python a.py \\\n  --flag"})],
    "### Action: run\ncommand: cat > a <<'E' && cat a\nx\nE": [("run", {"command": "cat > a <<'E' && cat a\nx\nE"})],
    '### Action: run\ncommand: echo "a" && echo "b"': [("run", {"command": 'echo "a" && echo "b"'})],
    '### Action: search\nquery: "log sum exp"': [("search", {"query": '"log sum exp"'})],
    '### Action: write\n**Arguments:**\n```json\n{"path": "a.py", "text": "x"}\n```': [
        ("write", {"path": "a.py", "text": "x"})
    ],
    "### Action: write\nArguments:\n- path: a.py\n- text:\n```\nx\n```": [("write", {"path": "a.py", "text": "x\n"})],
    **{
        f"### Planning\n{said}\n### Action: list\npath: .": [("list", {"path": "."})]
        for said in ("Use `### Action: run` with a here-document.", 'The heading says "### Action: write".')
    },
    "### Action: write\npath: a.py\ntext <<E\n```python\nx = 1\n```\nE\n\n---\n\n### Action: list\npath: .": [
        ("write", {"path": "a.py", "text": "```python\nx = 1\n```\n"}),
        ("list", {"path": "."}),
    ],
    **{
        f"### Action 2: {heading}\n{below}": [expected]
        for heading, below, expected in (
            (
                "edit (rename the variable)",
                "path: a.py\nold: x\nnew: y",
                ("edit", {"path": "a.py", "old": "x", "new": "y"}),
            ),
            (
                "edit \u2014 rename the variable",
                "**path:** a.py\nold: x\nnew: y",
                ("edit", {"path": "a.py", "old": "x", "new": "y"}),
            ),
            ("run (quick check)", "command: ls", ("run", {"command": "ls"})),
            ("read - look at it again.", "path: a.py", ("read", {"path": "a.py"})),
        )
    },
    **{
        f"### Action: {action}\n\n{said}": [expected]
        for action, expected in (
            ("run\ncommand: ls -l", ("run", {"command": "ls -l"})),
            ("grep\npattern: x", ("grep", {"pattern": "x"})),
            ("search\nquery: the mean", ("search", {"query": "the mean"})),
        )
        for said in (
            "Then I will write it.",
            "I'll wait for the output of `ls` before I go on!",
            "Once this is done:\n\n- I write it,\n- I test it.",
        )
    },
    "### Action: edit a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n\n>>>>>>> REPLACE": [
        ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2\n"})
    ],
    **{
        f"### Action: edit\npath: a.py\n{fence}<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n\n"
        f"<<<<<<< SEARCH\ny = 1\n=======\ny = 2\n>>>>>>> REPLACE\n{fence[:3]}\n### Action: submit": [
            ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}),
            ("edit", {"path": "a.py", "old": "y = 1", "new": "y = 2"}),
            ("submit", {}),
        ]
        for fence in ("", "```python\n", "~~~\n")
    },
    "### Action: run\n```bash\ncat > N.md <<'EOF'\n# N\n```python\nx\n```\nEOF\nls\n```\n### Action: list": [
        ("run", {"command": "cat > N.md <<'EOF'\n# N\n```python\nx\n```\nEOF\nls"}),
        ("list", {}),
    ],
    "### Action: submit\n```\n```\n": [("submit", {})],
    '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}}\n</tool_call>': [("read", {"path": "a.py"})],
    '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n{"name": "list", "arguments": {}}\n</tool_call>': [
        ("read", {"path": "a.py"}),
        ("list", {}),
    ],
    '```json\n{"name": "read", "arguments": {"path": "a.py"}}\n{"name": "list", "arguments": {}}\n```': [
        ("read", {"path": "a.py"}),
        ("list", {}),
    ],
    '<tool_call>{"name": "list", "arguments": {}}</tool_call>\nFor reference:\n```python\nx = 1\n```': [("list", {})],
    "### Action: edit a.py\nold: x = 1\nnew: x = 2": [("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"})],
    "### Action: edit a.py\nold: x = 1\nnew <<E\nE": [("edit", {"path": "a.py", "old": "x = 1", "new": ""})],
    "<invoke name='str_replace'><parameter name='path'>a.py</parameter><parameter name='old_str'>  a</parameter>"
    "<parameter name='new_str'></parameter></invoke>": [("edit", {"path": "a.py", "old": "  a", "new": ""})],
}


@pytest.mark.parametrize("answer", SHORT)
def test_a_short_answer_is_understood(answer: str) -> None:
    read = parse(answer)
    assert isinstance(read, Step), read
    assert [(action.kind, dict(action.arguments)) for action in read.actions] == SHORT[answer]


EDIT_BY_LITERALS = (
    "### Action: edit\npath: a.py\nold: |{mark}\n{blanks}x = 1\nnew: |{mark}\n{blanks}x = 1\n{blanks}y = 2\n"
)


@pytest.mark.parametrize(
    ("mark", "blanks", "first"),
    [("", "  ", ""), ("2", "      ", "    "), ("2", "    ", "  "), ("-", " ", "")],
)
def test_the_indentation_of_an_edit_that_is_known_is_kept(mark: str, blanks: str, first: str) -> None:
    read = parse(EDIT_BY_LITERALS.format(mark=mark, blanks=blanks))
    assert isinstance(read, Step), read
    assert read.actions[0].arguments["new"] == f"{first}x = 1\n{first}y = 2"


@pytest.mark.parametrize("blanks", ["    ", "        ", "          "])
def test_lines_of_a_function_below_a_bar_are_not_guessed_to_be_unindented(blanks: str) -> None:
    """Models copy lines as they stand in the file: taken as YAML, the second line would land in the first column."""
    read = parse(EDIT_BY_LITERALS.format(mark="", blanks=blanks))
    assert isinstance(read, ProtocolError)
    assert "`new` below line 5" in read.text
    assert "new <<END_OF_TEXT" in read.text


def refusal(answer: str) -> str:
    """Why nothing of an answer is done, with an empty repository."""
    read = parse(answer)
    return read.text if isinstance(read, ProtocolError) else lost(read, Known(targets=("a.py",)), native=False)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            "### Action: edit\npath: a.py\nold: |\n  x = 1\nnew: |\n  x = 1\n\n\n### Action: submit",
            "The old and the new text of the `edit` in line 1 are the same: after `|`, as in line 5, blank lines at the end",
        ),
        (
            "### Action: write\n```python file=a.py interface=a.solve\ndef solve():\n    pass\n```",
            "The code fence in line 2 holds the correction of one interface (`interface=a.solve`), and `write` replaces the whole of a.py.",
        ),
        (
            "### Action: write\npath: a.py\ntext:\n```python file=a.py interface=a.solve\ndef solve():\n    pass\n```",
            "Write the whole file in a fence without `interface=`, or use `edit`.",
        ),
        (
            "### Action\n```python a.py\nx = 1\n```",
            "begin with `### Action: write` and `path: a.py`; the code follows.",
        ),
        ("### Action\n```python\nx = 1\n```", "in line 1 names no action, and the code of line 2 is below it."),
        ("I see.\n### Action\n\nread a b", "Line 4 gives `a b` as the path of `read`."),
        ("I see.\n### Action\n\nfly", "There is no action `fly`. The actions are"),
        ("I see.\n### Action\n\nfly", "(Line 4.)"),
        ("I see.\n### Action: run 'ls \\a'", "The value of `command` in line 2 is between marks"),
        ("I see.\n### Action\nrun 'ls \\a'", "The value of `command` in line 3 is between marks"),
        (
            '<write path="a.py" text="x"/>',
            "`text` is in the tag `<write` of line 1: it is unclear what is escaped",
        ),
        (
            '<run command="a &amp;&amp; b"/>',
            "Write each argument as a tag of its own: `<run><command>...</command></run>`.",
        ),
        ('<read path="a" path="b"/>', "The tag `<read` in line 1 has an attribute twice."),
        ('<read path="a.py">{"lines": "1-2"}</read>', "has attributes, and JSON in it: use one of the two."),
        (
            '<read path="a.py"><file>b.py</file></read>',
            "`path` of `read` is given twice, as `path` and `file`, with different",
        ),
        ('<read mode="r"/>', "`read` does not take `mode`; its arguments are `path`, `lines`."),
        (
            "<write>x = 1</write>",
            "Write each argument as a tag of its own: `<write><path>...</path><text>...</text></write>`.",
        ),
        ("<run>ls\n<run>\npwd\n</run>", "`<run><command>...</command></run>`"),
        ("<run>\necho '\n</run>\n' >> a\n</run>", "`<run><command>...</command></run>`"),
        (
            "### Action: run\ncommand: cat > a <<'E'\nx\nE\nmake a",
            "If it is, write all of the command as a block: `command <<END_OF_COMMAND`, its lines, `END_OF_COMMAND`.",
        ),
        (
            "### Action: edit a.py\nold: x\nnew: y\nreplace_all: always",
            "`replace_all` must be true or false, and is `always`.",
        ),
        ('{"action": "read", "path": "a", "path": "b"}', "(the key `path` is given twice)"),
        (
            "### Action: run\nmake all",
            "would be lost. Nothing was done. If it is the command, write it like this:\n\n### Action: run\ncommand: make all",
        ),
        (
            "### Action: read\npath: a.py\nstart_line: first",
            '`start_line` of `read` must be the number of a line, and is `"first"`.',
        ),
        (
            "### Action: read\npath: a.py\nlines: 1-2\nstart_line: 1",
            "The lines of `read` are given in two ways, and `start_line` is one of them. Give `lines` alone.",
        ),
        (
            "### Action: read\npath: a.py\nstart_line: 1\nend_line: 3\nlines: 1-2",
            "The lines of `read` are given in two ways, and `start_line` is one of them.",
        ),
        ("### Action: read\npath: a.py\noffset: 1\noffset: 2", "`offset` of `read` is given twice."),
        (
            "### Action: write\npath: a.py\ntext: x = 1\ny: int = 3",
            "The text before it ended in line 3: if it continues after that, write it as a block, which takes such lines.",
        ),
        (
            '{"action": "write", "args": {"path": "a.py", "text": "say "hi" now"}}',
            'cannot be read (Expecting \',\' delimiter at `hi" now"}}`; a double quote within a string is written \\").',
        ),
        (
            '{"action": "write", "args": {"path": "a.py", "text": "x\n\\t"}}',
            "a string has both line breaks and `\\t`, so that it is unclear whether that is an escape",
        ),
        (
            '<|python_tag|>[edit(path="a.py", old="x", new=y), submit()]',
            "Line 1 calls `edit` with arguments that cannot be read.",
        ),
        (
            "### Action: read\npath: a.py\n\n> ### Action: submit",
            "Begin each action there; to quote one, put it in backticks within a sentence.",
        ),
        (
            '{"action": "write", "args": {"path": "a.py", "text": "x = 1',
            'the string that begins with `"x = 1` has no end: the answer was cut off, or a quote is missing',
        ),
        (
            "<function=edit>\n<parameter=path>\na.py\n</parameter>\n<parameter=old>\nx",
            "is not closed by `</parameter>`: the answer was cut off, or the closing tag is missing.",
        ),
        (
            '### Action: write\npath: a.py\ntext <<END_OF_TEXT\n"""\n    END_OF_TEXT\npath: x\n"""\nEND_OF_TEXT',
            "`path` of `write` is given twice. The text before it ended in line 5, the first that holds only `END_OF_TEXT`",
        ),
        ("### Action: run_terminal_cmd\ncommand: ls", "There is no action `run_terminal_cmd`; use `run`."),
        ('### Action: run\ncommand: python -c "\nprint(1)\n### Action: submit', "is not closed"),
        (
            "### Action: run\ncommand <<EOF\npython - <<'EOF'\nx = 1\nEOF\ngrep -n x a.py\nEOF",
            "holds a line that opens another with the same last word, `EOF`: it is unclear which of them ends in line 5.",
        ),
        (
            '### Action: edit\npath: a.py\nold:\n"""\ndef f():\n    """\nproblem = 1\n"""\nnew:\n"""\nx\n"""',
            'The text before it ended in line 6, the first that holds only `"""`',
        ),
        (
            "### Action: write\npath: notes.md\ntext:\n```markdown\n# Notes\n\n```bash\npytest\n```\n\n### Action: run\ncommand: ls",
            "line 7 opens another code fence within it",
        ),
        (
            "Okay.\n### Action: read a.py\n\nBut first\n</think>\n### Action: list",
            "Write all actions after the end of your thoughts",
        ),
        (
            '<tool_call>\n{"name": "write", "arguments": {"path": "a.py", "text": "x = 1\nprint(\\"a\\n\\")\n"}}\n</tool_call>',
            "it is unclear whether that is an escape",
        ),
        ("### Action: edit a.py\nold: x\nnew: y\ndescription: z", "`edit` does not take `description`"),
        *(
            (
                f"### Action: write\npath: {path}\ntext <<E\nx\nE",
                f"is `{path}`: write the path alone, without a comment.",
            )
            for path in (
                "b.txt (new file)",
                "h.txt  # the file",
                "src/a.py, new",
                "Makefile # new",
                "a.txt - the notes",
            )
        ),
        ('{"action": "write", "path": "b.txt (new)", "text": "x"}', "write the path alone, without a comment."),
        ("### Action: run\n`ls`\n`pwd`", "would be lost"),
        *((f"### Action: run\n{line}", "command: (shell command)") for line in ("> ls", "% ls", "# list", "- ls")),
        ('<tool name="write" path="a.py" text="x"/>', "`text` is in the tag `<tool` of line 1"),
        (
            '<invoke name="read" mode="r"><parameter name="path">a.py</parameter></invoke>',
            "`read` does not take `mode`",
        ),
        (
            '{"action": "read", "action_input": "a.py"}',
            'Write them as an object: {"path": "(file, relative to the workspace)"',
        ),
        (
            '{"action": {"type": "model", "path": "a.py"}}',
            'names no action. Write each action like `{"action": "read", "args": {"path": "a.py"}}`.',
        ),
        (
            '{"actions": [{"read": "a.py"}]}',
            'holds no action. Write each like `{"action": "read", "args": {"path": "a.py"}}`',
        ),
        ('### Action: write("a.py", "x = 1")', "Write it like this:\n\n### Action: write"),
        ("### Action: write\npath: ''\ntext <<E\nx\nE", "`path` of `write` is empty."),
        *(
            (
                f"### Action: write\npath: {path}\ntext <<E\nx\nE",
                f"is `{path}`, which begins with `{begin}`. Write it relative",
            )
            for path, begin in (('"a".py', '"'), ("file:///a.py", "file://"), ("C:/a.py", "C:"))
        ),
        ("### Action: run\n$ ls\n$ pwd", "If it is, write all of the command as a block"),
        ('{"action": "read", "args": {"path": "a.py",,}}', "cannot be read"),
        (
            "### Action: run\ncommand: ls \\\n### Action: submit",
            "continues after a backslash, and its end is not clear",
        ),
        ('{"action": "list", "args": {,}}', "cannot be read"),
        *(
            (f"### Action: run\ncommand <<DONE\n{command}\nDONE", "as a shell shows its prompt")
            for command in (
                '$ python -c "\n> import a\n> "',
                "$ cat <<E\nx\nE\nls",
                "$ echo 'a'\na",
                '$ echo "\n$ ls\n"',
            )
        ),
        (
            "### Action: run\n```console\n$ ls\na.py\n```",
            "as a shell shows its prompt: write the commands alone, without it.",
        ),
        ("### Action: run\nRun the tests.", "If it is the command, write it like this:"),
        *(
            (
                answer,
                'an action as JSON names it and begins in a line of its own, such as `{"action": "read", "args": {"path": "a.py"}}`.',
            )
            for answer in (
                'I do `{"action": "read", "path": "a.py"}` now.',
                '```json\n{"tool_name": 3, "file": "a.py"}\n```',
                "So: {'path': 'a.py'}",
            )
        ),
        *(
            (answer, 'names no action. Write each action like `{"action": "read", "args": {"path": "a.py"}}`.')
            for answer in ('{"path": "a.py", "text": "x"}', '{\n  "command": "ls"\n}')
        ),
        ('Line one.\nI pass {"path": 1} here.', 'Line 2 (`I pass {"path": 1} here.`) holds JSON that is not read'),
        (
            "### Action: write a.txt\ntext <<E\nuse text <<E\nx\nE\n### Action: write b.txt\ntext <<E\ny\nE\n",
            "holds a line that opens another with the same last word, `E`",
        ),
        (
            "### Action: write\n```csv my data.csv\nx\n```",
            "it is unclear which of it is the path. Write the path below the heading",
        ),
        (
            "### Action: write b.csv\n```csv a.csv\nx\n```",
            "Write one of them, such as `path: a.csv`, and the fence without a name.",
        ),
        (
            "### Action: read a.py\n\n```csv a.csv\nx\n```",
            "put these two lines above the fence: `### Action: write` and `path: a.csv`.",
        ),
        (
            "### Action\n`nerf/render.py`:\n```python\nx = 1\n```\n",
            "line 2 names a file with code below it. If it is the whole file, put these two lines above the fence",
        ),
        ('Action: read\nAction Input: ["a.py"]', "would be lost"),
        ("### Action: submit\nThat is all.\n### Action: list", "would be lost"),
        ("### Action: submit\n```\nx\n```", "would be lost"),
        ("### Action: edit a.py\nold <<<EOT\nx\nEOT\nnew: y", "there is 1 `<` too many. Write `old <<EOT`."),
        ("### Action: run\ncommand <<<<EOT\nx\nEOT", "there are 2 `<` too many. Write `command <<EOT`."),
        (
            'I look: {"name": "read", "arguments": {"path": "a.py"}}',
            "begin it in a line of its own. No other action was found. Nothing was done.",
        ),
        (
            "#### `nerf/sampling.py`\n\n```python\nx = 1\n```\n",
            "### Action: write\npath: nerf/sampling.py\ntext <<END_OF_TEXT\n",
        ),
        ("I will look.", "### Action: read\npath: (file, relative to the workspace)"),
        (
            '### Action: write\npath: a.py\n```python\nx = """\n```\n### Action: run\nmore\n"""\n```',
            "would be lost. It may belong to the text of the `write` in line 1, whose code fence then ends too early, in line 5. "
            "Write that text as a block, which takes such lines",
        ),
        ("<tool_call>\n<function=read>\n", "or holds what is no argument"),
        ("<tool_call>read\n<arg_key>path</arg_key>\nx", "is not made of `<arg_key>...</arg_key>` and"),
        ('```json\n{"action": "list"}\nand\n```', "holds more than actions: line 3 (`and`) is none."),
        ("```tool_code\nx = 1\n```", "The Python that begins in line 2 holds more than calls of tools."),
        (
            '<|python_tag|>{"name": "list"} so',
            "'so' follows a call of a tool in line 1, and is no call in the same form.",
        ),
        (
            "### Action: write a.md\ntext <<E\na\n  E\n### Action: run\ncommand: ls\nE\n",
            "Line 7 (`E`) could end the text that began in line 2 and ended in line 4",
        ),
        (
            "# Action: write `a.md`\ntext <<E\n### Action: run\ncommand: ls\nE",
            "has no `###` before it. Other actions have one",
        ),
        (
            "### Action: edit a.py\nold: |\n      x\nnew: |\n  x\n",
            "after `|`, as in line 2, the indentation of the first line is taken away",
        ),
        (
            '<write><path>a.py</path><text>s = "</text>"\n</text></write>',
            "ends at the first `</text>`, and there is another after it",
        ),
        (
            '### Planning: so. [TOOL_CALLS][{"name": "list"}]\n### Action: submit',
            "has `[TOOL_CALLS]`, which some models write",
        ),
        ("<plan>\n<|new_call|>read\n</plan>\n<submit/>", "has `<|new_call|>`, which some models write to call a tool"),
        ("### Action: write a.py\ntext <<E\nx = 1\nE\n<function=submit>\n</function>", "in different forms"),
        ("import numpy\n# Action: submit", "Line 2 (`# Action: submit`) follows code"),
        ("# Action: run\ncommand: cd src\n# Plan: list\npwd", "Line 3 (`# Plan: list`) follows an action"),
        ("```python\n# Action: submit\n\nx = 1\n```", "is in the code fence that line 1 opens"),
        ("<plan>x</plan> So: <submit/>", "Line 1 (`So: <submit/>`) has an action after other text"),
        ("<action>\n<name>read</name>\n</action>", "Write each action as a tag that is named like it: `<read>"),
        ("<action>\nread a.py\n", "The tag `<action>` around your actions is not closed"),
        ("### Action: read\u200b\npath: a.py", "an invisible character (U+200B) after `read`"),
        ("### Action: write a.py\ntext <<E\nx\nE\nsubmit", "is the name of an action without a heading"),
        ("### Action: run\ncommand: ls\ncommand: pwd", "`command` of `run` is given twice."),
        (
            "### Action: write a.py\n```\nx = '''\n```\n'''\n```\n### Action: submit",
            'The text before it ended in line 4, the first that holds only "```": if it continues after that, write it as a block',
        ),
        (
            "### Action: write\npath: a.py\ntext:\nx = 1",
            "Write it as a block: `text <<END_OF_TEXT`, its lines as they are",
        ),
        ('### Action: run\ncommand: "ls \\\\w"', 'The value of `command` in line 2 is between marks (")'),
        ('### Action: grep\npattern: "\\\\w"', 'The value of `pattern` in line 2 is between marks (")'),
        ('### Action: edit a.py\nold: "x"\nnew: "\\\\t"\n', 'The value of `old` in line 2 is between marks (")'),
        ("### Action: edit a.py\nold: x\nnew: `y`\n", "The value of `new` in line 3 is between marks (`)"),
        ("### Action: edit a.py\nold: 'x'\nnew: `y`\n", "The value of `old` in line 2 is between marks (')"),
        ("### Action: run\ncommand: cat <<E\nx", "has no last line `E`"),
        ("### Action: edit a.py\nold: x = 1\nnew:\n", "`new` in line 3 has no value."),
        ('### Action: edit a.py\nold: "x"\nnew: y\n', 'The value of `old` in line 2 is between marks (")'),
        *(
            (
                f"{above}\n```python\n{first}x = 1\n```\n### Action: run\ncommand: ls",
                "`### Action: write` and `path: src/a.py`",
            )
            for above, first in (
                ("**src/a.py**", ""),
                ("`src/a.py`:", ""),
                ("### src/a.py", ""),
                ("So:", "# src/a.py\n"),
            )
        ),
        *(
            (
                f"`src/a.py`:\n```python\nx = 1\n```\n### Action: {action}",
                "names the file src/a.py would be lost: no action writes that file, and `x = 1` is in no file that you were shown.",
            )
            for action in (
                "write\npath: src/b.py\ntext <<END\ny = 1\nEND",
                "edit\npath: src/b.py\nold: x\nnew: y",
                "run\ncommand: python src/a.py",
            )
        ),
        *(
            (
                f"### Action: write\npath: a.py\n{named}```python b.py\nx = 1\n```",
                "`write` names `a.py`, and its code fence",
            )
            for named in ("", "text:\n", "text: ")
        ),
        ("### Action: edit a.py\nold: x \nnew: y\n", "`old` in line 2 ends in a blank"),
        ('### Action: run\n    python3 -c "\n    print(1)\n    "', "command <<END_OF_COMMAND\n"),
        ("### Action: run\ncommand: ls\nThen I will write it.", "If it is no part of the command"),
        ("### Action: run\ncommand: ls\n\nI write it > a.py.", "If it is no part of the command"),
        ("### Action: run\ncommand: ls\n\nthen run it.", "If it is no part of the command"),
        (
            "### Action: write\npath: a.md\ntext:\n```markdown\n# A\n\n```bash\nls\n```\n\nThen:\n\n```python\ny = 1\n```\n\nDone.\n```\n",
            "whose code fence then ends too early, in line 9.",
        ),
        (
            'So:\n\n```tool_code\nprint(default_api.write(path=\'a.py\', text="""\n```\nx\n```\n"""))\n```\n',
            "(line 4: unterminated triple-quoted string literal). A text in three quotes is not closed: if it holds a line of backticks, that ends the code fence",
        ),
        ("### Action: run (ls -la)", "`run` needs `command`."),
        ("### Action: read (src/a.py)", "calls `read` with arguments that cannot be read."),
        ("### Action: submit (it works now)", "calls `submit` with arguments that cannot be read."),
        ("### Action: read\npath: b.py\n### Planning\n**a.py**\n```python\nx = 1\n```", "`path: a.py`"),
        (
            "### Action: edit\npath: a.rst\n<<<<<<< SEARCH\nA\n=======\nb\n=======\nB\n>>>>>>> REPLACE",
            "`old <<END_OF_OLD`, its lines",
        ),
        ('{"actions": [{"action": "list"}], "note": 1}', "has `note` beside `actions`"),
        ("### Action: edit a.py\nold:     x\nnew: y\n", "`old` in line 2 begins with more than one blank"),
        (
            "### Action: edit a.py\n<<<<<<< SEARCH\nx\n=======\ny\n=======\n>>>>>>> REPLACE\n",
            "The lines that begin in line 2",
        ),
        ("### Action: write a.py\ntext: (as above)", "is the one line `(as above)`, which is no Python"),
        ("### Action: write a.py\n```\ntext <<E\nx = 1\nE\n```", "It is not known whether line 3"),
        ("### Action: write a.py\n    ```\n    x = 1\n    ```", "The code fence in line 2 is indented"),
        ("### Action: write a.py\ntext: |\n\tx = 1\n", "are not indented below it"),
        (
            "### Action: read a.py\n\nResult of read a.py:\nx = 1\n\n### Action: submit",
            "with a result in line 3 and then acts again",
        ),
        *(
            (f"### Action: read a.py\n\n{imagined}\n\n### Action: submit", "in line 3 and then acts again")
            for imagined in (
                "# Feedback on turn 1\n\nAll hidden tests passed.",
                "Tool output:\n5 passed",
                "<tool_response>\n5 passed\n</tool_response>",
                "<function_results>5 passed</function_results>",
                "### Observation\n5 passed",
                "<observation>5 passed</observation>",
            )
        ),
        (
            "### \U0001f6e0 Action: run\ncommand: ls\n### Action: submit",
            "looks like an action and does not begin with its heading",
        ),
        (
            "I do it now. ### Action: run ls\n### Action: submit",
            "looks like an action and does not begin with its heading",
        ),
        ("### Tool: run\ncommand: ls\n### Action: submit", "is no heading of an action; write `### Action: run`."),
        ("### Run\n```bash\nls\n```\n### Action: submit", "is no heading of an action; write `### Action: run`."),
        ('{"action": "read", "args": "a.py"}', "The arguments of `read` are no JSON"),
        ('{"action": "read", "args": {"path": 3}}', "`path` of `read` must be a string, not a number."),
        ('{"action": "fly", "args": {}}', "There is no action `fly`."),
        (
            '{"action": "read", "args": {"path": "a"}} and {"action": "submit"}',
            "follows the JSON that begins in line 1.",
        ),
        ("{'action': 'read', 'path': 'a.py'}", "The JSON that begins in line 1 cannot be read"),
        ("### Action: python\n```python\nprint(1)\n```", "There is no action `python`; use `run`."),
        ("### Action: bash_it\n", "There is no action `bash_it`"),
    ],
)
def test_a_short_answer_is_refused_in_words_that_help(answer: str, words: str) -> None:
    text = refusal(answer)
    assert words in text
    assert "Nothing was done." in text


LINES = {
    "block": "text <<E1\n{}E1",
    "fence": "text:\n```\n{}```",
    "fence without a name": "```\n{}```",
    "tildes": "~~~\n{}~~~",
    "quotes": 'text: """\n{}"""',
}


@pytest.mark.parametrize("spelling", LINES)
@pytest.mark.parametrize("lines", ["", "\n", "\n\n", "end\n", "end\n\n", "end\n\n\n", "\nend\n", " \n"])
def test_each_line_of_a_file_ends_in_a_newline(spelling: str, lines: str) -> None:
    read = parse(f"### Action: write\npath: notes.txt\n{LINES[spelling].format(lines)}\n### Action: submit")
    assert isinstance(read, Step), read
    assert read.actions[0].arguments["text"] == lines
    assert parse(render(read)) == read


@pytest.mark.parametrize(
    ("between", "text"),
    [
        ("", ""),
        ("\n", ""),
        ("\n\n", ""),
        ("x", "x"),
        ("x\n", "x\n"),
        ("\nx\n", "x\n"),
        ("\nx\n\n", "x\n"),
        ("\n\nx\n", "\nx\n"),
        ("\nx\n  ", "x\n"),
        ("\nx", "\nx"),
        ("<![CDATA[\nx &lt;</text> y\n]]>", "x &lt;</text> y\n"),
        ("\n<![CDATA[x]]>\n", "x"),
    ],
)
@pytest.mark.parametrize(
    "tags",
    [
        "<write><path>a.txt</path><text>{}</text></write>",
        '<invoke name="write"><parameter name="path">a.txt</parameter><parameter name="text">{}</parameter></invoke>',
        "<tool_call><function=write><parameter=path>\na.txt\n</parameter><parameter=text>{}</parameter></function></tool_call>",
        "<tool_call>write<arg_key>path</arg_key><arg_value>a.txt</arg_value><arg_key>text</arg_key><arg_value>{}</arg_value></tool_call>",
        '<xai:function_call name="write"><parameter name="path">a.txt</parameter><parameter name="text">{}</parameter></xai:function_call>',
    ],
)
def test_a_line_break_next_to_each_tag_of_a_text_belongs_to_the_tags(between: str, text: str, tags: str) -> None:
    """Both or none: what a model writes next to one tag only is part of the text."""
    if "</text>" in between and "</text>" not in tags:
        between, text = between.replace("</text>", ""), text.replace("</text>", "")
    read = parse(tags.format(between))
    assert isinstance(read, Step), read
    assert read.actions == (Action(kind="write", arguments={"path": "a.txt", "text": text}),)


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("    x = 1\n", "", ("    x = 1\n", "")),
        ("\n    x = 1\n", "\n    y = 1\n", ("    x = 1", "    y = 1")),
        ("    x = 1\n", "    x = 1\n    y = 2\n", ("    x = 1\n", "    x = 1\n    y = 2\n")),
        ("\nx\n\n", "\ny\n", ("x\n", "y")),
        ("x", "", ("x", "")),
        ("\nx\n", "", None),
        ("\nx\n", "\n", None),
        ("x", "\ny\n", None),
        ("x\n", "y", None),
        ("x", "y\n", None),
        ("\nx\n", "y\n", None),
        ("x\n  ", "y\n  ", None),
    ],
)
def test_the_texts_of_an_edit_in_tags_end_as_they_are_written(
    old: str, new: str, outcome: tuple[str, str] | None
) -> None:
    read = parse(f"<edit><path>a.py</path><old>{old}</old><new>{new}</new></edit>")
    if outcome is None:
        assert isinstance(read, ProtocolError), read
        assert "unclear whether" in read.text
    else:
        assert isinstance(read, Step), read
        assert (read.actions[0].arguments["old"], read.actions[0].arguments["new"]) == outcome


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [("x\n", "", ("x\n", "")), ("x", "", ("x", "")), ("x\n", "y", ("x\n", "y")), ("", "y", None)],
)
def test_an_edit_in_the_form_of_qwen_has_a_line_break_next_to_each_tag(
    old: str, new: str, outcome: tuple[str, str] | None
) -> None:
    form = "<parameter={}>\n{}\n</parameter>\n"
    inner = "".join(form.format(name, value) for name, value in (("path", "a.py"), ("old", old), ("new", new)))
    read = parse(f"<tool_call>\n<function=edit>\n{inner}</function>\n</tool_call>")
    assert isinstance(read, Step) is (outcome is not None), read
    if isinstance(read, Step):
        assert (read.actions[0].arguments["old"], read.actions[0].arguments["new"]) == outcome


def test_the_texts_of_an_edit_are_pieces_of_lines() -> None:
    read = parse("### Action: edit a.py\nold <<E\nx\n\nE\nnew <<E\n\nE")
    assert isinstance(read, Step), read
    assert read.actions[0].arguments == {"path": "a.py", "old": "x\n", "new": ""}


@pytest.mark.parametrize("named", ["", "command:\n", "command: ", "timeout: 5\n"])
@pytest.mark.parametrize(
    "info", ["python", "py", "python3", "ipython", "Python", "python title=a", "pycon", "{.python}"]
)
def test_python_in_the_fence_of_a_run_is_not_given_to_a_shell(named: str, info: str) -> None:
    read = parse(f"### Action: run\n{named}```{info}\nimport os\nprint(os.getcwd())\n```\n### Action: submit")
    assert isinstance(read, ProtocolError), read
    assert "and the command of `run` is for a shell. Write the code to a file with `write` and run that" in read.text
    assert "`python3 - <<'EOF'`, the code, `EOF`" in read.text
    assert "Nothing was done." in read.text


def test_assignments_in_a_python_fence_are_no_arguments_of_a_run() -> None:
    read = parse("### Action: run\n```python\ntimeout = 5\ncommand = foo\n```")
    assert isinstance(read, ProtocolError), read
    assert "The code fence in line 2 says `python`, and the command of `run` is for a shell." in read.text


@pytest.mark.parametrize("info", ["ruby", "javascript", "json", "yaml", "powershell"])
def test_the_fence_of_a_run_is_a_shells_or_says_no_language(info: str) -> None:
    read = parse(f"### Action: run\n```{info}\nx = 1\n```")
    assert isinstance(read, ProtocolError), read
    assert f"The code fence in line 2 says `{info}`, and the command of `run` is for a shell." in read.text


@pytest.mark.parametrize("name", FAULTY)
def test_a_spelling_without_one_reading_is_an_error(name: str) -> None:
    assert "Nothing was done." in refusal(FAULTY[name]("import numpy as np\n\n\ndef solve(x):\n    return 2 * x"))


@pytest.mark.parametrize(
    "answer",
    [
        "# Observation\nA.\n# Reflection\nB.\n# Plan\nC.\n# Action: submit",
        "# Observation\nA.\n# Reflection: B.\n# Plan\nC.\n### Action: submit",
        "<observation>A.</observation><reflection>B.</reflection><plan>C.</plan><action>submit</action>",
        "<observation>\nA.\n</observation>\n<thought>B.</thought>\n<plan>\nC.\n</plan>\n<submit/>",
    ],
)
def test_each_part_is_in_its_own_field(answer: str) -> None:
    read = parse(answer)
    assert read == Step(observation="A.", reflection="B.", planning="C.", actions=(Action(kind="submit"),))
    unusable = answer.replace("submit", "fly")
    assert isinstance(parse(unusable), ProtocolError)
    told = {name: said.partition("<")[0] for name, said in parts_of(unusable).items()}
    assert {name: told[name] for name in PARTS if name != "reflection"} == {"observation": "A.", "planning": "C."}
    assert told["reflection"].startswith("B.")


@pytest.mark.parametrize(
    "text",
    [
        'The symbol "</w>" ends a word.\n# ("t", "</w>") -> "t</w>"',
        "I see:\n\n- a\n    - b\n\n```python\nx = 1\n\n    y\n```\nDone.",
        '<tool_call>edit\n<arg_value>    # "</w>" merges</arg_value>\n\n</tool_call',
        '<parameter name="path">numerics.py</parameter>\n\n<b>bold</b>',
        "if a < b and c > d:\n    x</b> y",
    ],
)
def test_a_text_is_recorded_as_it_is(text: str) -> None:
    assert parts_of(text) == {"reflection": text}


def test_a_part_in_tags_is_recorded_without_them() -> None:
    assert parts_of("<plan>\nRead.\n\nWrite.</plan>\nSo <b>it</b> is.") == {
        "planning": "Read.\n\nWrite.",
        "reflection": "So <b>it</b> is.",
    }


def test_an_action_behind_more_parts_in_tags_than_are_read_is_not_lost() -> None:
    read = parse(f"{'<plan>x</plan>' * 101}<submit/>\n<submit/>")
    assert isinstance(read, ProtocolError)
    assert "follows other text" in read.text


CONFLICT = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize("fence", ["", "```python\n", "~~~\n"])
def test_an_edit_as_a_conflict_may_stand_in_a_fence(fence: str) -> None:
    read = parse(f"### Action: edit\npath: a.py\n{fence}{CONFLICT}{fence[:3]}\n")
    assert isinstance(read, Step), read
    assert read.actions == (Action(kind="edit", arguments={"path": "a.py", "old": "x = 1", "new": "x = 2"}),)


@pytest.mark.parametrize("before", ["", "I see.\n", "\n".join(["I see."] * 12) + "\n"])
def test_lines_in_tags_are_counted_from_the_answers_first(before: str) -> None:
    read = parse(f"{before}<edit>\n<path>a.py</path>\n<old>\nx\n</old>\n<new>\nx &lt; 1\n</new>\n</edit>\n")
    assert isinstance(read, ProtocolError)
    assert f"in line {before.count(chr(10)) + 6} holds `&lt;`" in read.text
