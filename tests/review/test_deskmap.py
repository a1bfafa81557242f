"""What a push keeps of the tasks that it made, against a server that anyone may write to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, cast

import pytest

from kina_build.errors import ConfigError, Refusal
from kina_review.desk.deskmap import DeskMap, Pushed, push
from kina_review.desk.labelstudio import DeskServer
from kina_review.records import Assignment, Reviewer

PEOPLE = [Reviewer(reviewer_id="ann", account="ann@x.org"), Reviewer(reviewer_id="bob", account="bob@x.org")]
SLOTS = [
    Assignment(item_id="i1", reviewer_id="ann", assignment_id="t1"),
    Assignment(item_id="i2", reviewer_id="ann", assignment_id="t2"),
    Assignment(item_id="i1", reviewer_id="bob", assignment_id="t3"),
]


class FakeServer:
    """A server in memory; `tells` whether it names the ids of the tasks that it makes."""

    url = "http://desk"

    def __init__(self, *, tells: bool = True) -> None:
        self.tells = tells
        self.titles: dict[str, int] = {}
        self.rows: list[tuple[int, int, str]] = []
        self.restored: list[int] = []
        self.numbers = count(100)
        self.loses = False

    def accounts(self) -> dict[str, int]:
        return {"ann@x.org": 1, "bob@x.org": 2}

    def projects(self) -> dict[str, int]:
        return dict(self.titles)

    def create_project(self, title: str, config: str, instruction: str) -> int:
        return self.titles.setdefault(title, len(self.titles) + 1)

    def restore_rules(self, project_id: int, instruction: str) -> None:
        self.restored.append(project_id)

    def tasks(self, project_id: int) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for project, number, key in self.rows:
            if project == project_id:
                found.setdefault(key, []).append(number)
        return found

    def import_tasks(self, project_id: int, tasks: Sequence[Mapping[str, Any]]) -> set[int]:
        made = {self.add(project_id, task["assignment_id"]) for task in tasks if not self.loses}
        return made if self.tells else set()

    def add(self, project_id: int, key: str) -> int:
        self.rows.append((project_id, next(self.numbers), key))
        return self.rows[-1][1]


def pushed(server: FakeServer, earlier: DeskMap | None = None, slots: Sequence[Assignment] = SLOTS) -> Pushed:
    return push(
        cast("DeskServer", server), "b", "review", slots, PEOPLE, config="<View/>",
        make_task=lambda slot: {"assignment_id": slot.assignment_id}, instruction="Read.", earlier=earlier,
    )  # fmt: skip


@pytest.mark.parametrize("tells", [True, False])
def test_the_map_knows_the_tasks_and_a_repeat_changes_nothing(tells: bool) -> None:
    server = FakeServer(tells=tells)
    first = pushed(server)
    assert first.desk.tasks == {"t1": 100, "t2": 101, "t3": 102}
    assert (first.projects_created, first.tasks_added, first.tasks_there) == (2, 3, 0)
    again = pushed(server, first.desk)
    assert (again.desk, again.tasks_added, again.tasks_there) == (first.desk, 0, 3)
    assert server.restored == [1, 2]


def test_a_planted_copy_of_a_task_is_never_taken_for_it() -> None:
    server = FakeServer()
    first = pushed(server)
    server.add(1, "t1")
    assert pushed(server, first.desk).desk.tasks["t1"] == 100
    assert pushed(server).desk.tasks["t1"] == 100  # also where the map of an interrupted push is missing


@pytest.mark.parametrize("tells", [True, False])
def test_a_task_that_somebody_deleted_is_pushed_anew_beside_its_copy(tells: bool) -> None:
    server = FakeServer(tells=tells)
    first = pushed(server)
    server.add(1, "t1")
    server.rows = [row for row in server.rows if row[1] != 100]
    again = pushed(server, first.desk)
    assert (again.tasks_added, again.desk.tasks["t1"]) == (1, 104)


def test_a_task_that_is_gone_at_once_is_told() -> None:
    server = FakeServer()
    server.loses = True
    with pytest.raises(ConfigError, match="gone from the server"):
        pushed(server)


def test_a_reviewer_without_account_stops_the_push() -> None:
    slot = Assignment(item_id="i1", reviewer_id="cat", assignment_id="t9")
    with pytest.raises(Refusal, match="no account for cat"):
        pushed(FakeServer(), slots=[slot])
