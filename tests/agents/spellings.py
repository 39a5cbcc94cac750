"""One answer, which writes `solver.py` and submits, as different models spell it: functions of the text to write.

EXACT ones are understood whenever the text itself does not stand in their way; FAULTY ones have more than one reading, or none, and
nothing of them may be done.
"""

from __future__ import annotations

import json
from collections.abc import Callable

PATH = "solver.py"
SUBMIT = "### Action: submit\n"

Spelling = Callable[[str], str]


def framed(head: str, foot: str, after: str = f"\n{SUBMIT}") -> Spelling:
    return lambda text: f"{head}{text}{foot}{after}"


def literal(head: str, indent: str = "  ") -> Spelling:
    def spelled(text: str) -> str:
        return "\n".join([head, *((indent + line if line else "") for line in text.split("\n")), SUBMIT])

    return spelled


def with_json(shape: Callable[[str], object], around: str = "{}", **how: object) -> Spelling:
    def spelled(text: str) -> str:
        return around.replace("{}", json.dumps(shape(text), **how))  # type: ignore[arg-type]

    return spelled


def openai(text: str) -> object:
    calls = [("write", {"path": PATH, "text": text}), ("submit", {})]
    return {
        "tool_calls": [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for number, (name, given) in enumerate(calls)
        ]
    }


def raw_lines(text: str) -> str:
    """JSON with line breaks within its strings, as models write it that do not escape them."""
    inner = json.dumps(text, ensure_ascii=False)[1:-1].replace("\\n", "\n")
    return f'[{{"action": "write", "args": {{"path": "solver.py", "text": "{inner}"}}}}, {{"action": "submit"}}]'


def calls(text: str) -> list[tuple[str, dict[str, str]]]:
    return [("write", {"path": PATH, "text": text}), ("submit", {})]


def marked(begin: str, call: str, end: str = "") -> Spelling:
    """Calls between the tokens of a chat template."""
    return lambda text: (
        begin
        + "".join(call.replace("{name}", name).replace("{given}", json.dumps(given)) for name, given in calls(text))
        + end
    )


HEAD = "### Observation\nNothing yet.\n### Reflection\nIt is easy.\n### Planning\nWrite it.\n"
WRITE = f"{HEAD}### Action: write\npath: solver.py\n"

EXACT: dict[str, Spelling] = {
    # as the prompt asks
    "block": framed(f"{WRITE}text <<END_OF_TEXT\n", "\nEND_OF_TEXT"),
    "block behind a colon": framed(f"{WRITE}text: <<EOF\n", "\nEOF"),
    "block with a quoted word": framed(f"{WRITE}text <<'PY'\n", "\nPY"),
    # fences
    "text, then a fence": framed(f"{WRITE}text:\n```python\n", "\n```"),
    "text, blank line, fence": framed(f"{WRITE}text:\n\n```python\n", "\n```\n"),
    "fence on the line of text": framed(f"{WRITE}text: ```python\n", "\n```"),
    "fence without text": framed(f"{WRITE}\n```python\n", "\n```"),
    "bare fence": framed(f"{WRITE}text:\n```\n", "\n```"),
    "tildes": framed(f"{WRITE}text:\n~~~python\n", "\n~~~"),
    "tildes without text": framed(f"{WRITE}~~~\n", "\n~~~"),
    "four backticks": framed(f"{WRITE}text:\n````python\n", "\n````"),
    "fence that names the file": framed("### Action: write\n```python solver.py\n", "\n```"),
    "fence with a title": framed('### Action: write\n```python title="solver.py"\n', "\n```"),
    "fence with a colon and the file": framed("### Action: write\n```python:solver.py\n", "\n```"),
    "fence that is a file name": framed("### Action: write\n```solver.py\n", "\n```"),
    "file name before the fence": framed("### Action: write\n**solver.py**\n```python\n", "\n```"),
    "file name in backticks before the fence": framed("### Action: write\n`solver.py`:\n```python\n", "\n```"),
    "content for text": framed(f"{WRITE}content:\n```python\n", "\n```"),
    "code for text": framed(f"{WRITE}code:\n```python\n", "\n```"),
    "file_text for text": framed("### Action: create\nfile_path: solver.py\nfile_text:\n```python\n", "\n```"),
    # YAML, quotes
    "YAML literal": literal(f"{WRITE}text: |"),
    "YAML literal, stripped": literal(f"{WRITE}text: |-", "    "),
    "YAML literal, four blanks": literal(f"{WRITE}content: |4", "    "),
    "three double quotes": framed(f'{WRITE}text: """\n', '\n"""'),
    "three single quotes": framed(f"{WRITE}text: '''\n", "\n'''"),
    "three quotes on the next line": framed(f'{WRITE}text:\n"""\n', '\n"""'),
    "YAML in a fence": lambda text: "\n".join(
        [
            "### Action: write",
            "```yaml",
            "path: solver.py",
            "text: |",
            *(f"  {line}" for line in text.split("\n")),
            "```",
            SUBMIT,
        ]
    ),
    # names of actions
    "write_file": framed(f"{HEAD}### Action: write_file\npath: solver.py\ntext <<E_O_F\n", "\nE_O_F"),
    "Create File": framed(f"{HEAD}### Action: Create File\nfilename: solver.py\ncontent <<E_O_F\n", "\nE_O_F"),
    "finish": framed(f"{WRITE}text <<E_O_F\n", "\nE_O_F", "\n### Action: finish\n"),
    # headings
    "lower case": framed(
        "### observation\nNothing.\n### action: write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\n### action: submit\n"
    ),
    "upper case": framed("### ACTION: WRITE\nPATH: solver.py\nTEXT <<EOF\n", "\nEOF", "\n### ACTION: SUBMIT\n"),
    "bold": framed("**Action: write**\n**path:** solver.py\n**text:**\n```python\n", "\n```", "\n**Action:** submit\n"),
    "bold word": framed(
        "**Action**: `write`\n- **path**: `solver.py`\n- **text**:\n```python\n", "\n```", "\n**Action**: submit"
    ),
    "numbered": framed(
        "1. **Observation**: None.\n4. **Action**: write\npath: solver.py\ntext <<EOF\n",
        "\nEOF",
        "\n5. **Action**: submit\n",
    ),
    "numbered actions": framed(
        "### Action 1: write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\n### Action 2: submit\n"
    ),
    "numbered headings": framed(
        "## 4. Action: write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\n## 5. Action: submit\n"
    ),
    "single hash": framed(
        "# Observation\nNothing yet.\n# Reflection\nIt is easy.\n# Plan\nWrite it.\n# Action\nwrite\npath: solver.py\ntext <<EOF\n",
        "\nEOF",
        "\n# Action\nsubmit\n",
    ),
    "single hash and a fence": framed(
        "I see.\n\n# Action: write\npath: solver.py\n```python\n", "\n```", "\n# Action: submit\n"
    ),
    "single hash below other parts": framed(
        f"{HEAD}# Action: write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\n# Action: submit\n"
    ),
    "parts with a single hash": framed(
        "# Observation\nNone.\n# Plan\nWrite it.\n### Action: write\npath: solver.py\ntext <<EOF\n", "\nEOF"
    ),
    "numbered, no hashes": framed("Action 1: write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\nAction 2: submit\n"),
    "quotation marks": framed("### Action: write\npath: \u201csolver.py\u201d\ntext <<EOF\n", "\nEOF"),
    "German quotation marks": framed("### Action: write \u201esolver.py\u201c\ntext <<EOF\n", "\nEOF"),
    "French quotation marks": framed(
        "### Action: write\npath: \u00ab\u00a0solver.py\u00a0\u00bb\ntext <<EOF\n", "\nEOF"
    ),
    "tabs": framed("### Action: write\n\tpath: solver.py\n\ttext <<EOF\n", "\nEOF"),
    "a fence left over": framed(f"{WRITE}text <<EOF\n", "\nEOF", f"\n{SUBMIT}```\n"),
    "brackets": framed("Thought: easy.\nAction: write[solver.py]\n```python\n", "\n```", "\nAction: submit\n"),
    "no hashes": framed("Plan: write.\nAction: write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\nAction: submit\n"),
    "four hashes": framed("#### Action: write solver.py\n```python\n", "\n```", "\n#### Action: submit\n"),
    "action on the next line": framed(
        "### Action\nwrite\npath: solver.py\ntext <<EOF\n", "\nEOF", "\n### Action\nsubmit\n"
    ),
    "arrow and dash": framed("### Action - write\npath = solver.py\ntext <<EOF\n", "\nEOF", "\n### Action - submit\n"),
    "fence around all": framed(f"```\n{WRITE}text <<EOF\n", "\nEOF", f"\n{SUBMIT}```\n"),
    "fence around all, and fences": framed(f"```markdown\n{WRITE}text:\n```python\n", "\n```", f"\n{SUBMIT}```\n"),
    "thoughts before": framed(f"<think>\n### Action: submit\n</think>\n{WRITE}text <<EOF\n", "\nEOF"),
    "end of thoughts before": framed(f"I could submit.\n</think>\n\n{WRITE}text <<EOF\n", "\nEOF"),
    "byte order mark": framed("\ufeff### Action: write\npath: solver.py\ntext <<EOF\n", "\nEOF"),
    "CRLF": lambda text: framed(f"{WRITE}text <<EOF\n", "\nEOF")(text).replace("\n", "\r\n"),
    "CRLF and a fence": lambda text: framed(f"{WRITE}text:\n```python\n", "\n```")(text).replace("\n", "\r\n"),
    "trailing blanks": framed(
        "### Action: write  \npath: solver.py  \ntext <<EOF  \n", "\nEOF  ", "\n### Action: submit  \n"
    ),
    "prose after": framed(f"{WRITE}text <<EOF\n", "\nEOF", f"\n{SUBMIT}\nThat is all. It should pass now.\n"),
    # JSON
    "JSON": with_json(
        lambda text: [{"action": "write", "args": {"path": PATH, "text": text}}, {"action": "submit", "args": {}}]
    ),
    "JSON, flat": with_json(lambda text: [{"action": "write", "path": PATH, "content": text}, {"action": "submit"}]),
    "JSON in a fence": with_json(
        lambda text: {
            "reflection": "Easy.",
            "actions": [{"name": "write_file", "arguments": {"path": PATH, "text": text}}, {"name": "submit"}],
        },
        "Here it is:\n```json\n{}\n```\n",
        indent=2,
    ),
    "JSON lines": lambda text: "\n".join(
        json.dumps(each) for each in ({"tool": "write", "input": {"file_path": PATH, "text": text}}, {"tool": "done"})
    ),
    "JSON with raw line breaks": raw_lines,
    "tool calls of OpenAI": with_json(openai),
    "ReAct": lambda text: "\n".join(
        [
            "Thought: easy.",
            "Action: write",
            f"Action Input: {json.dumps({'path': PATH, 'text': text})}",
            "Action: submit",
        ]
    ),
    "JSON below a heading": lambda text: "\n".join(
        ["### Action: write", "```json", json.dumps({"path": PATH, "text": text}), "```", SUBMIT]
    ),
    # tags
    "tool_call": lambda text: "\n".join(
        f"<tool_call>\n{json.dumps(each)}\n</tool_call>"
        for each in ({"name": "write", "arguments": {"path": PATH, "text": text}}, {"name": "submit", "arguments": {}})
    ),
    "function and parameters": framed(
        "I write it.\n\n<tool_call>\n<function=write>\n<parameter=path>\nsolver.py\n</parameter>\n<parameter=text>\n",
        "\n</parameter>\n</function>\n</tool_call>\n",
        "<tool_call>\n<function=submit>\n</function>\n</tool_call>",
    ),
    "invoke": framed(
        '<function_calls>\n<invoke name="write">\n<parameter name="path">solver.py</parameter>\n<parameter name="text">',
        "</parameter>\n</invoke>\n",
        '<invoke name="submit">\n</invoke>\n</function_calls>',
    ),
    "tags": framed("<write>\n<path>solver.py</path>\n<text>\n", "\n</text>\n</write>\n", "<submit/>\n"),
    "tags of other names": framed(
        "<write_to_file>\n<path>solver.py</path>\n<content>\n", "\n</content>\n</write_to_file>\n", "<done></done>\n"
    ),
    "function with JSON": lambda text: (
        f"<function=write>{json.dumps({'path': PATH, 'text': text})}</function>\n<function=submit>{{}}</function>"
    ),
    "parts and actions in tags": framed(
        "<observation>None.</observation>\n<plan>\nWrite it.\n</plan>\n<action>\nwrite\npath: solver.py\ntext <<EOF\n",
        "\nEOF",
        "\n</action>\n<action>submit</action>\n",
    ),
    "headings in a tag": framed(
        "<reflection>Easy.</reflection>\n<action>\n### Action: write\npath: solver.py\ntext <<EOF\n",
        "\nEOF",
        f"\n{SUBMIT}</action>\n",
    ),
    "tags in a tag": framed(
        "<observation>None.</observation><action><write>\n<path>solver.py</path>\n<text>\n",
        "\n</text>\n</write>\n",
        "<submit/></action>",
    ),
    "JSON in tags": lambda text: "\n".join(
        f"<plan>So.</plan><action>{json.dumps(each)}</action>"
        for each in ({"action": "write", "args": {"path": PATH, "text": text}}, {"action": "submit"})
    ).replace("\n<plan>So.</plan>", "\n"),
    "tags below a heading": framed("### Action: write\n<path>solver.py</path>\n<text>\n", "\n</text>"),
    "tags below one heading": framed(
        f"{HEAD}### Action\n<write>\n<path>solver.py</path>\n<text>\n", "\n</text>\n</write>\n", "<submit/>\n"
    ),
    "tool_call below one heading": lambda text: "\n".join(
        [
            "### Action",
            *(
                f"<tool_call>\n{json.dumps(each)}\n</tool_call>"
                for each in (
                    {"name": "write", "arguments": {"path": PATH, "text": text}},
                    {"name": "submit", "arguments": {}},
                )
            ),
        ]
    ),
    "CDATA": framed("<write>\n<path>solver.py</path>\n<text><![CDATA[\n", "\n]]></text>\n</write>\n", "<submit/>\n"),
    "headings below a heading": framed(
        "## 4. Action\n\n### write\npath: solver.py\ntext <<EOF\n", "\nEOF", "\n\n### submit\n"
    ),
    "a fence after a block": framed(f"{WRITE}text <<EOF\n", "\nEOF\n```", f"\n{SUBMIT}"),
    "an empty fence after submit": framed(f"{WRITE}text <<EOF\n", "\nEOF", f"\n{SUBMIT}```\n```\n"),
    "GLM": framed(
        "<tool_call>write\n<arg_key>path</arg_key>\n<arg_value>solver.py</arg_value>\n<arg_key>text</arg_key>\n<arg_value>",
        "</arg_value>\n</tool_call>",
        "\n<tool_call>submit\n</tool_call>",
    ),
    "xai": framed(
        'Now:\n\n<xai:function_call name="write">\n<parameter name="path">solver.py</parameter>\n<parameter name="text">',
        "</parameter>\n</xai:function_call>",
        '\n<xai:function_call name="submit">\n</xai:function_call>',
    ),
    "MiniMax": framed(
        '<minimax:tool_call>\n<invoke name="write">\n<parameter name="path">solver.py</parameter>\n<parameter name="text">',
        "</parameter>\n</invoke>\n",
        '<invoke name="submit">\n</invoke>\n</minimax:tool_call>',
    ),
    "DSML": framed(
        'So.\n\n<\uff5cDSML\uff5cfunction_calls>\n<\uff5cDSML\uff5cinvoke name="write">\n'
        '<\uff5cDSML\uff5cparameter name="path" string="true">solver.py</\uff5cDSML\uff5cparameter>\n'
        '<\uff5cDSML\uff5cparameter name="text" string="true">',
        "</\uff5cDSML\uff5cparameter>\n</\uff5cDSML\uff5cinvoke>\n",
        '<\uff5cDSML\uff5cinvoke name="submit">\n</\uff5cDSML\uff5cinvoke>\n</\uff5cDSML\uff5cfunction_calls>',
    ),
    # between the tokens of chat templates
    "DeepSeek": marked(
        "So.<\uff5ctool\u2581calls\u2581begin\uff5c>",
        "<\uff5ctool\u2581call\u2581begin\uff5c>{name}<\uff5ctool\u2581sep\uff5c>{given}"
        "<\uff5ctool\u2581call\u2581end\uff5c>",
        "<\uff5ctool\u2581calls\u2581end\uff5c>",
    ),
    "DeepSeek V3": marked(
        "<\uff5ctool\u2581calls\u2581begin\uff5c>",
        "<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>{name}\n```json\n{given}\n```<\uff5ctool\u2581call\u2581end\uff5c>\n",
        "<\uff5ctool\u2581calls\u2581end\uff5c><\uff5cend\u2581of\u2581sentence\uff5c>",
    ),
    "Kimi": marked(
        "I write it.<|tool_calls_section_begin|>",
        "<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{given}<|tool_call_end|>",
        "<|tool_calls_section_end|>",
    ),
    "harmony": marked(
        "<|channel|>analysis<|message|>So.<|end|>",
        "<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{given}<|call|>",
    ),
    "harmony without its last token": lambda text: marked(
        "", "<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{given}<|call|>"
    )(text).removesuffix("<|call|>"),
    "Mistral": lambda text: (
        "So.\n\n[TOOL_CALLS]" + json.dumps([{"name": name, "arguments": given} for name, given in calls(text)]) + "</s>"
    ),
    "Mistral with [ARGS]": marked("So. ", "[TOOL_CALLS]{name}[ARGS]{given}"),
    "Llama": lambda text: (
        "<|python_tag|>"
        + "; ".join(json.dumps({"name": name, "parameters": given}) for name, given in calls(text))
        + "<|eom_id|>"
    ),
    "Llama 3 with calls in Python": lambda text: (
        f"So.\n<|python_tag|>[write(path={PATH!r}, text={text!a}), submit()]<|eom_id|>"
    ),
    "Llama 3 with .call": lambda text: (
        f"<|python_tag|>write.call(path={PATH!r}, text={text!a})<|eom_id|>\n<|python_tag|>submit.call()<|eom_id|>"
    ),
    "Llama 4": lambda text: f"[write(path={PATH!r}, text={text!a}), submit()]",
    "Gemini": lambda text: (
        f"So.\n```tool_code\nprint(default_api.write(path={PATH!r}, text={text!a}))\nprint(default_api.submit())\n```"
    ),
}

AS_JSON = frozenset(
    {name for name in EXACT if name.startswith(("JSON", "DeepSeek", "harmony", "Mistral", "Llama"))}
    | {
        "tool calls of OpenAI",
        "ReAct",
        "tool_call",
        "function with JSON",
        "tool_call below one heading",
        "Kimi",
        "Gemini",
    }
)
"""Those that hold the text as a string, with or without a newline at its end."""

VERBATIM = frozenset({"invoke", "GLM", "xai", "MiniMax", "DSML"})
"""Those that hold the text between two tags."""

FRAMED = frozenset(
    {
        *("function and parameters", "tags", "tags of other names", "tags in a tag", "tags below a heading"),
        "tags below one heading",
        "CDATA",
    }
)
"""Those that hold the text between two tags, each with a line break that belongs to it. In all others it is lines."""

FAULTY: dict[str, Spelling] = {
    "plain lines": framed(f"{WRITE}text:\n", ""),
    "plain lines without text": framed(WRITE, ""),
    "literal without indentation": framed(f"{WRITE}text: |\n", ""),
    "folded": lambda text: literal(f"{WRITE}text: >")(f"{text}\n{text}"),
    "quotes with text behind": framed(f'{WRITE}text: """', '"""'),
    "block without an end": framed(f"{WRITE}text <<EOF\n", ""),
    "fence without an end": framed(f"{WRITE}text:\n```python\n", ""),
    "two fences": lambda text: f"{WRITE}```python\n{text}\n```\n```python\n{text}\n```\n{SUBMIT}",
    "code outside, then submit": framed("```python\n", "\n```"),
    "named code outside, then submit": framed("```python solver.py\n", "\n```"),
    "unknown action": framed(f"{HEAD}### Action: compose\npath: solver.py\ntext <<EOF\n", "\nEOF"),
    "unknown argument": framed(f"{WRITE}mode: w\ntext <<EOF\n", "\nEOF"),
    "heading of another name": framed("### Write\npath: solver.py\ntext <<EOF\n", "\nEOF"),
    "list of headings": framed("- **Action**: write\n  - path: solver.py\n  - text <<EOF\n", "\nEOF"),
    "call of Python": framed(f"{HEAD}write(path=\"solver.py\", text='''", "''')"),
    "call of Python in a fence": framed('```tool_code\nwrite(path="solver.py", text="x")\n```\n', ""),
    "call of Python in a heading": framed("### Action: write(path=\"solver.py\", text='''\n", "''')"),
    "tag behind a word": framed("So: <write>\n<path>solver.py</path>\n<text>\n", "\n</text>\n</write>\n", "<submit/>"),
    "JSON behind a mark": lambda text: (
        f'[TOOL_CALLS][{{"name": "write", "arguments": {json.dumps({"path": PATH, "text": text})}}}]\n{SUBMIT}'
    ),
    "JSON with quotation marks": lambda text: (
        f"{{\u201caction\u201d: \u201cwrite\u201d, \u201cpath\u201d: \u201csolver.py\u201d, \u201ctext\u201d: {json.dumps(text)}}}\n{SUBMIT}"
    ),
    "a name without a heading": framed(f"{WRITE}text <<EOF\n", "\nEOF", "\nsubmit\n"),
    "action within a part": framed(
        "<plan>\n### Action: write\npath: solver.py\ntext <<E_O_F\n", "\nE_O_F\n</plan>\n<action>submit</action>", ""
    ),
    "tag of actions without an end": framed(f"<action>\n{WRITE}text <<E_O_F\n", "\nE_O_F"),
    "invisible character": framed("### Action: write\npath: solver.py\u200b\ntext <<EOF\n", "\nEOF"),
    "two forms": lambda text: f"{json.dumps({'action': 'write', 'path': PATH, 'text': text})}\n{SUBMIT}",
    "some without hashes": framed("Action: write\npath: solver.py\ntext <<EOF\n", "\nEOF"),
    "indented": framed("  ### Action: write\n  path: solver.py\n  text <<EOF\n", "\n  EOF"),
    "JSON that is cut off": lambda text: with_json(lambda t: {"action": "write", "args": {"path": PATH, "text": t}})(
        text
    )[:-2],
    "JSON with a key twice": lambda text: (
        f'{{"action": "write", "path": "a.py", "path": "solver.py", "text": {json.dumps(text)}}}'
    ),
    "tags that are cut off": framed("<write>\n<path>solver.py</path>\n<text>\n", "", ""),
    "escaped tags": lambda text: f"<write>\n<path>solver.py</path>\n<text>\na &lt; b\n{text}\n</text>\n</write>\n",
    "two paths": framed("### Action: write other.py\n```python solver.py\n", "\n```"),
    "prose in between": framed("### Action: write\nHere is the file.\npath: solver.py\ntext <<EOF\n", "\nEOF"),
    "thoughts without an end": framed(f"<think>\n{WRITE}text <<EOF\n", "\nEOF"),
    "imagined result": lambda text: f"{WRITE}text <<EOF\n{text}\nEOF\n### Observation\nIt passed.\n{SUBMIT}",
}
