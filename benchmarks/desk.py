"""Time the review desk: `python -m benchmarks.desk [--server]`.

Without a server: assignment of 100,000 items to 2,000 reviewers. With --server: push and
pull of 10,000 tasks on a real Label Studio server (started here, on loopback), each beside
the raw requests of the server's own import and export in the same run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from kina_build.items.model import Item, Option
from kina_review.desk.assignment import assign_reviewers
from kina_review.desk.deskmap import pull, push
from kina_review.desk.labelling import labelling_config, review_task
from kina_review.desk.labelstudio import DeskServer
from kina_review.records import Assignment, Reviewer

OPTIONS = tuple(Option(key=key, answer=f"answer {key}") for key in "ABCD")
TASKS = 10_000
PEOPLE = 10


def make_items(count: int) -> list[Item]:
    return [
        Item(item_id=f"i{n:06d}", question=f"Which is {n}?", options=OPTIONS, correct_answer="A")
        for n in range(count)
    ]


def clock(work: Callable[[], object]) -> tuple[float, float]:
    """Return the processor and wall seconds of some work."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def time_assignment() -> None:
    items = make_items(100_000)
    people = [Reviewer(reviewer_id=f"r{n:04d}") for n in range(2000)]
    cpu = time.process_time()
    plan = assign_reviewers(items, people, seed=0)
    spent = time.process_time() - cpu
    loads = plan.loads.values()
    print("assign 100,000 items to 2,000 reviewers (goal: under 10 s, loads within 2, no pair twice)")
    print(f"  {spent:.1f} CPU s; loads {min(loads)} to {max(loads)}; pairs repeated {plan.repeated_pairs}")


def time_server() -> None:
    from tests.live.desk import TOKEN, install, start, stop

    install()
    with tempfile.TemporaryDirectory() as folder:
        server, url = start(Path(folder) / "data")
        try:
            compare(url, TOKEN)
        finally:
            stop(server)


def compare(url: str, token: str) -> None:
    headers = {"Authorization": f"Token {token}"}
    items = {item.item_id: item for item in make_items(TASKS)}
    with httpx.Client(base_url=url, headers=headers, timeout=600) as raw, DeskServer(url, token) as desk:
        account = raw.get("/api/current-user/whoami").json()["email"]
        people = [Reviewer(reviewer_id=f"r{n}", account=account) for n in range(PEOPLE)]
        slots = [
            Assignment(item_id=item_id, reviewer_id=f"r{n % PEOPLE}", assignment_id=f"t{n}")
            for n, item_id in enumerate(items)
        ]
        config = labelling_config("review")

        def import_raw() -> None:
            for person in range(PEOPLE):
                body = {"title": f"raw {person}", "label_config": config}
                number = raw.post("/api/projects", json=body).json()["id"]
                tasks = [
                    {"data": review_task(items[s.item_id], str(s.assignment_id))}
                    for s in slots[person::PEOPLE]
                ]
                raw.post(f"/api/projects/{number}/import", json=tasks).raise_for_status()

        def push_ours() -> None:
            pushed.append(
                push(
                    desk, "bench", "review", slots, people,
                    config=config, make_task=lambda s: review_task(items[s.item_id], str(s.assignment_id)),
                )
            )  # fmt: skip

        pushed = []
        report("import", clock(import_raw)[1], clock(push_ours)[1])
        numbers = [project.project_id for project in pushed[0].desk.projects]

        def export_raw() -> None:
            for number in numbers:
                query = {"exportType": "JSON", "download_all_tasks": "true"}
                json.loads(raw.get(f"/api/projects/{number}/export", params=query).content)

        report("export", clock(export_raw)[1], clock(lambda: pull(desk, pushed[0].desk))[1])


def report(what: str, raw: float, ours: float) -> None:
    print(f"{what} of {TASKS:,} tasks: raw {raw:.1f} s, kina {ours:.1f} s, ratio {ours / raw:.2f} (goal 1.3)")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--server", action="store_true", help="also against a real Label Studio server")
    given = parser.parse_args()
    time_assignment()
    if given.server:
        time_server()


if __name__ == "__main__":
    main()
