"""Pages written from Python, from records at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina_build.errors import Refusal, UsageError
from kina_build.release import Request, build_release
from kina_build.report import write_report
from tests.release.pools import spread


def test_pages_are_written_from_what_is_at_hand(tmp_path: Path) -> None:
    written = write_report(tmp_path / "report", pool=spread(3), findings=(), title="Three questions")
    assert written.pages == ("index.html", "items-1.html", "pool.html", "search.html")
    assert "Three questions" in (tmp_path / "report" / "index.html").read_text()
    assert str(written).startswith("4 pages, ")


def test_a_private_release_in_memory_hides_its_keys(tmp_path: Path) -> None:
    items = spread(40)
    release = build_release(items, request=Request(private=frozenset({"test", "dev"})))
    assert release.private_ids == {item.item_id for item in items}
    for name, parts in (("open", {}), ("hidden", {"release": release})):
        write_report(tmp_path / name, pool=items, **parts)
    assert 'class="right"' in (tmp_path / "open" / "items-1.html").read_text()
    assert 'class="right"' not in (tmp_path / "hidden" / "items-1.html").read_text()


def test_nothing_and_unknown_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="nothing to report"):
        write_report(tmp_path / "report")
    with pytest.raises(UsageError, match="no part scoress"):
        write_report(tmp_path / "report", scoress=())
