"""A release with private answers: models are asked without them and marked with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from kina_build.items.pool import write_pool
from tests.release.pools import spread
from tests.servers import said, scripted

Kina = Callable[..., Result]
SCORE = ("score", "--task", "multiple-choice", "--release", "release", "--responses", "responses.jsonl")


@pytest.fixture
def asked(kina: Kina, tmp_path: Path) -> Path:
    """Export with the answers of test apart and ask a model that always says A."""
    write_pool(tmp_path / "pool.jsonl", spread(40))
    assert kina("export", "pool.jsonl", "-o", "release", "--private", "test").exit_code == 0
    with scripted(lambda prompt, times: said("Answer: A")) as server:
        call = ("run", "--release", "release", "--model", "m", "--samples", 1, "--base-url", server.url)
        done = kina(*call, "-o", "responses.jsonl")
    assert done.exit_code == 0, done.output
    return tmp_path / "release.answers.jsonl"


def test_replies_are_marked_with_the_answers_file(kina: Kina, asked: Path) -> None:
    keys = [json.loads(line)["answer"] for line in asked.read_text().splitlines()]
    done = kina(*SCORE, "--answers", asked, "--json")
    assert done.exit_code == 0, done.output
    (model,) = json.loads(done.stdout)["models"]
    assert model["items"] == len(keys)
    assert 0 < model["score"] == pytest.approx(keys.count("A") / len(keys))


def test_without_the_answers_nothing_is_marked(kina: Kina, asked: Path) -> None:
    done = kina(*SCORE)
    assert done.exit_code == 2
    assert "the answers of 36 items are private" in done.stderr
    assert "--answers" in done.stderr


def test_an_answers_file_must_have_every_item(kina: Kina, asked: Path, tmp_path: Path) -> None:
    (tmp_path / "short.jsonl").write_text("".join(asked.read_text().splitlines(keepends=True)[1:]))
    done = kina(*SCORE, "--answers", "short.jsonl")
    assert done.exit_code == 2
    assert "the answers of 1 items are private" in done.stderr


def test_answers_must_name_choices(kina: Kina, asked: Path, tmp_path: Path) -> None:
    first, *rest = asked.read_text().splitlines(keepends=True)
    wrong = json.dumps(json.loads(first) | {"answer": "Q"})
    (tmp_path / "wrong.jsonl").write_text("".join([wrong + "\n", *rest]))
    done = kina(*SCORE, "--answers", "wrong.jsonl")
    assert done.exit_code == 2
    assert "'Q' names no choice" in done.stderr


def test_answers_without_a_release_are_a_slip(kina: Kina, asked: Path) -> None:
    slip = ("score", "--task", "multiple-choice", "--items", "pool.jsonl", "--responses", "responses.jsonl")
    assert kina(*slip, "--answers", asked).exit_code == 2


def test_private_answers_are_for_their_owner_only(asked: Path, tmp_path: Path) -> None:
    assert asked.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "release" / "test.jsonl").stat().st_mode & 0o044
