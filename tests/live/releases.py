"""The releases that the harness tests load, made by `kina export` from real questions."""

from __future__ import annotations

import json
from pathlib import Path

import kina_build
from tests.live.harnesses import kina, read_rows

SUBJECTS = ("anatomy", "astronomy", "virology", "nutrition")
REDUX_ITEMS = 300
SPLITS = ("test", "dev")


def make_demo(folder: Path) -> Path:
    """Release the demo's questions as demo/, and once more as private/ with the answers of test apart."""
    pool = Path(kina_build.__file__).parent / "data" / "pool.csv"
    kina("import", pool, "-o", "demo.jsonl", "--set", "language=en", cwd=folder)
    planted = [f"--allow={gate}=planted in the demo" for gate in ("item_repeated", "keys_conflict")]
    made = ("--title", "The demo", "--published", "2026-11-30", *planted)
    kina("export", "demo.jsonl", "-o", "demo", "--name", "demo", *made, cwd=folder)
    kina("export", "demo.jsonl", "-o", "private", "--name", "private", "--private", "test", *made, cwd=folder)
    return folder


def make_redux(folder: Path, corpus: Path) -> None:
    """Release 300 questions of MMLU-Redux that its annotators found sound, as redux/."""
    files = [corpus / f"mmlu_{subject}.csv" for subject in SUBJECTS]
    columns = ("--map", "correct_answer=answer", "--prefix-ids")
    paths = ("--name-as", "subfield", "--cut-prefix", "mmlu_")
    fixed = ("--set", "license=CC-BY-4.0", "--set", "language=en")
    kina("import", *files, "-o", "redux.jsonl", *columns, *paths, *fixed, cwd=folder)
    pool = read_rows(folder / "redux.jsonl")
    sound = [row["item_id"] for row in pool if row["metadata"]["verdict"] == "ok"]
    (folder / "picked.json").write_text(json.dumps({"item_ids": sound[:REDUX_ITEMS]}))
    known = [
        f"--allow={gate}=known of MMLU-Redux" for gate in ("surface_cue", "length_cue", "missing_source")
    ]
    picked = ("--selection", "picked.json", "--name", "redux")
    kina("export", "redux.jsonl", "-o", "redux", *picked, *known, cwd=folder)
    assert sum(map(len, splits(folder / "redux").values())) == REDUX_ITEMS


def splits(release: Path) -> dict[str, list[dict[str, object]]]:
    """Return a release's rows by split, as its JSON Lines have them."""
    return {split: read_rows(release / f"{split}.jsonl") for split in SPLITS}
