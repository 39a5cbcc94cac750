"""Writes metadata_facts.jsonl from the annotation_meta.jsonl of RECODE-H: what it says of every row, and none of its code.

python tests/recode_h/make_metadata_facts.py RECODE-H/dataset/annotation_meta.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

CODE = "# code\n"
"""Stands for the code of an `init_content`."""
COPIED_KEYS = ("index", "repo_dir_name", "target_file_path", "if_test", "test_cases")


def facts(line: str) -> dict[str, object]:
    row = json.loads(line)
    begins = row["init_content"]
    return {**{key: row[key] for key in COPIED_KEYS}, "init_content": begins if begins in ("", "\n", "N/A") else CODE}


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    told = "".join(json.dumps(facts(line)) + "\n" for line in lines if line.strip())
    (Path(__file__).parent / "metadata_facts.jsonl").write_text(told)
