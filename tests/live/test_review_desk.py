"""The review desk on a real Label Studio server, with the attacks that it does not stop itself."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kina_build.cli.main import app
from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.pool import write_pool
from kina_review.desk.deskmap import DeskMap
from kina_review.desk.labelstudio import TOKEN_VARIABLE, DeskServer
from kina_review.rubric import CRITERION_NAMES
from tests.live.browser import Browser, browser  # noqa: F401  a fixture
from tests.live.desk import PASSWORD, Desk, Member, desk  # noqa: F401  a fixture

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(1800),
]

PEOPLE = ("ann", "bob", "cat")
ITEMS = 40


def email(person: str) -> str:
    return f"{person}@example.org"


def full(verdict: str = "accept", mark: str = "3 good") -> list[dict[str, Any]]:
    choices = {f"mark_{name}": mark for name in CRITERION_NAMES} | {"verdict": verdict}
    result = [
        {"from_name": name, "to_name": "card", "type": "choices", "value": {"choices": [value]}}
        for name, value in choices.items()
    ]
    text = {"from_name": "rationale", "to_name": "card", "type": "textarea", "value": {"text": ["Checked."]}}
    return [*result, text]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a pool of 40 questions with formulas, and three reviewers."""
    here = tmp_path_factory.mktemp("batch")
    options = tuple(
        Option(key=k, answer=a)
        for k, a in zip(LETTERS, ("$0$", "$1$", r"$\frac{n}{2}$", "none"), strict=False)
    )
    items = [
        Item(
            item_id=f"item-{n:02d}",
            field="Mathematics",
            subfield="Calculus",
            question=rf"Let $f(x)=\frac{{x^2}}{{\sqrt{{1+x}}}}$, $n={n}$. What is $$\int_0^1 n\,x\,dx\,?$$",
            options=options,
            correct_answer="C",
            question_source="A first course in analysis, p. 12",
            author_id="author-secret",
            metadata={"model_answer": "model-secret"},
        )
        for n in range(ITEMS)
    ]  # fmt: skip
    write_pool(here / "pool.jsonl", items)
    rows = "".join(f"{p},payee-{p},{email(p)}\n" for p in PEOPLE)
    (here / "reviewers.csv").write_text("reviewer_id,payee_id,account\n" + rows)
    return here


@pytest.fixture(scope="module")
def members(desk: Desk) -> Iterator[dict[str, Member]]:
    joined = {person: desk.join(email(person)) for person in (*PEOPLE, "eve")}
    yield joined
    for member in joined.values():
        member.client.close()


@pytest.fixture
def kina_here(
    folder: Path,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Result]:
    monkeypatch.chdir(folder)
    monkeypatch.setenv(TOKEN_VARIABLE, desk.token)
    return lambda line: CliRunner().invoke(app, line.split())


def tasks_of(desk: Desk, folder: Path, person: str) -> list[dict[str, Any]]:
    plan = DeskMap.model_validate_json((folder / "desk.json").read_text())
    project = next(p for p in plan.projects if p.reviewer_id == person)
    with desk.admin() as admin:
        query = {"project": project.project_id, "page_size": 1000, "fields": "all"}
        return sorted(admin.get("/api/tasks", params=query).json()["tasks"], key=lambda task: task["id"])


def test_1_push_is_idempotent_and_resumes(
    kina_here: Callable[..., Result],
    desk: Desk,
    members: dict[str, Member],
) -> None:
    done = kina_here("review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 --json")
    assert json.loads(done.stdout)["assignments"] == 2 * ITEMS
    line = f"review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --url {desk.url} --json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DeskServer, "import_tasks", interrupted_after(1, DeskServer.import_tasks))
        assert kina_here(line).exit_code == 130
    resumed = json.loads(kina_here(line).stdout)
    assert (resumed["tasks_added"] + resumed["tasks_there"], resumed["projects"]) == (2 * ITEMS, 3)
    assert resumed["tasks_there"] > 0
    again = json.loads(kina_here(line).stdout)
    assert (again["tasks_added"], again["tasks_there"], again["projects_created"]) == (0, 2 * ITEMS, 0)


def interrupted_after(calls: int, real: Callable[..., set[int]]) -> Callable[..., set[int]]:
    made: list[int] = []

    def call(self: DeskServer, project_id: int, tasks: Any) -> set[int]:
        if len(made) == calls:
            raise KeyboardInterrupt
        made.append(project_id)
        return real(self, project_id, tasks)

    return call


def test_2_a_person_reviews_in_the_browser(
    browser: Browser,
    desk: Desk,
    folder: Path,
    members: dict[str, Member],
    tmp_path: Path,
) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    task = tasks_of(desk, folder, "ann")[0]
    driver = browser.driver
    wait = WebDriverWait(driver, 300)
    browser.show(f"{desk.url}/user/login/", width=1400, height=1000)
    driver.find_element(By.NAME, "email").send_keys(email("ann"))
    driver.find_element(By.NAME, "password").send_keys(PASSWORD)
    driver.find_element(By.CSS_SELECTOR, "[type=submit]").click()
    wait.until(lambda d: "/user/login" not in d.current_url)
    browser.show(f"{desk.url}/projects/{task['project']}/data?task={task['id']}", width=1400, height=1000)
    wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, "[class*=choice]"))
    wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, "math"))
    browser.screenshot(tmp_path / "desk.png")
    cards = [e.text for e in driver.find_elements(By.CSS_SELECTOR, ".htx-richtext") if e.is_displayed()]
    assert not any("✓" in card for card in cards)
    own = driver.find_elements(
        By.XPATH, "//label[normalize-space(.)='B' or starts-with(normalize-space(.), 'B')]"
    )
    next(e for e in own if e.is_displayed()).click()
    wait.until(lambda d: "✓" in d.find_element(By.TAG_NAME, "body").text)
    page = driver.page_source
    assert "Representativeness and depth" in page
    assert "A first course in analysis" in page
    for secret in ("author-secret", "model-secret", "item-", email("bob"), "payee-"):
        assert secret not in driver.find_element(By.TAG_NAME, "body").text
    for label in [
        e for e in driver.find_elements(By.XPATH, "//label[contains(., '3 good')]") if e.is_displayed()
    ]:
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", label)
        label.click()
    accept = driver.find_elements(By.XPATH, "//label[normalize-space(.)='accept' or contains(., 'accept')]")
    next(e for e in accept if e.is_displayed()).click()
    area = next(e for e in driver.find_elements(By.CSS_SELECTOR, "textarea") if e.is_displayed())
    area.send_keys("Solved it by hand; the key is right.")
    browser.screenshot(tmp_path / "filled.png")
    submit = driver.find_elements(By.XPATH, "//button[contains(., 'Submit')]")
    next(e for e in submit if e.is_displayed()).click()
    end = time.monotonic() + 300
    while time.monotonic() < end and not tasks_of(desk, folder, "ann")[0]["annotations"]:
        time.sleep(1)
    (annotation,) = tasks_of(desk, folder, "ann")[0]["annotations"]
    assert annotation["completed_by"] == members["ann"].number


def test_3_reviews_come_back_and_attacks_do_not(
    kina_here: Callable[..., Result],
    desk: Desk,
    folder: Path,
    members: dict[str, Member],
) -> None:
    ann, bob, cat = (tasks_of(desk, folder, person) for person in PEOPLE)
    attacked = {"third": ann[1], "forged": ann[2], "edited": ann[3], "twice": ann[4], "skip": ann[5],
                "range": ann[6], "draft": ann[7], "empty": ann[8], "planted": ann[9]}  # fmt: skip
    calm = [
        t
        for t in ann[1:]
        if t["id"] not in {attacked[k]["id"] for k in ("forged", "skip", "range", "draft", "empty")}
    ]
    for person, tasks in (("ann", calm), ("bob", bob), ("cat", cat)):
        for task in tasks:
            members[person].annotate(task["id"], full(), lead_time=90.0)
    members["eve"].annotate(attacked["third"]["id"], full("reject"))
    for verdict in ("reject", "revise"):
        signed = {"completed_by": members["ann"].number, "result": full(verdict)}
        members["eve"].plant(attacked["planted"]["project"], attacked["planted"]["data"], signed)
    members["eve"].annotate(attacked["forged"]["id"], full("reject"), completed_by=members["ann"].number)
    edited = next(t for t in tasks_of(desk, folder, "ann") if t["id"] == attacked["edited"]["id"])
    time.sleep(2.5)
    members["bob"].change(edited["annotations"][0]["id"], result=full("reject"))
    members["ann"].annotate(attacked["twice"]["id"], full("reject"))
    members["ann"].annotate(attacked["skip"]["id"], full(), was_cancelled=True)
    members["ann"].annotate(attacked["range"]["id"], full(mark="9 superb"))
    members["ann"].draft(attacked["draft"]["id"], full())
    members["ann"].annotate(attacked["empty"]["id"], [])
    with desk.admin() as admin:
        admin.delete(f"/api/users/{members['cat'].number}/").raise_for_status()

    done = kina_here(f"review pull desk.json --reviewers reviewers.csv --url {desk.url} --json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    faults = [json.loads(line) for line in (folder / "quarantine.jsonl").read_text().splitlines()]
    reason = {kind: sorted(f["reason"] for f in faults if f["assignment_id"] == task["data"]["assignment_id"])
              for kind, task in attacked.items()}  # fmt: skip
    assert reason == {
        "third": ["not_assigned"],
        "forged": ["forged_author"],
        "edited": ["edited_by_other"],
        "twice": ["duplicate"],
        "skip": ["skipped"],
        "range": ["impossible_value"],
        "draft": ["draft"],
        "empty": ["incomplete"],
        "planted": ["foreign_task", "foreign_task"],
    }
    assert report["quarantined"]["deleted_user"] == len(cat)
    assert report["results"]["submitted"] == len(ann) - 6 + len(bob)
    kept = [json.loads(line) for line in (folder / "reviews.jsonl").read_text().splitlines()]
    assert {r["verdict"] for r in kept if r["status"] == "submitted"} == {"accept"}
    assert {r["payee_id"] for r in kept} == {"payee-ann", "payee-bob", "payee-cat"}


def test_4_what_came_back_is_settled_and_paid(kina_here: Callable[..., Result], folder: Path) -> None:
    kept = [json.loads(line) for line in (folder / "reviews.jsonl").read_text().splitlines()]
    with (folder / "scores.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["item_id", "reviewer_id", "review_score"])
        for number, row in enumerate(r for r in kept if r["status"] == "submitted"):
            writer.writerow([row["item_id"], row["reviewer_id"], 12 + number % 7])
    settled = kina_here(
        "review settle --reviews reviews.jsonl --scores scores.csv --base 2.00 --bonus 5.00 --currency USD "
        "--bar 14 --tie split --seed 42 --ledger ledger.db --json"
    )
    assert settled.exit_code == 0, settled.stderr
    awards = json.loads(settled.stdout)["awards"]
    submitted = sum(r["status"] == "submitted" for r in kept)
    assert sum(a["base_minor"] for a in awards) == 200 * submitted
    assert kina_here("review ledger verify --ledger ledger.db").exit_code == 0
    planned = kina_here("review pay plan --ledger ledger.db -o payments.csv --json")
    assert planned.exit_code == 0, planned.stderr


def test_wrong_servers_and_tokens_are_one_clear_line(
    kina_here: Callable[..., Result],
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pull = "review pull desk.json --reviewers reviewers.csv --url"
    for url, said in (("http://127.0.0.1:9", "no server answers"), ("ftp://nowhere", "not a URL")):
        failed = kina_here(f"{pull} {url}")
        assert (failed.exit_code, said in failed.stderr) == (2, True), failed.stderr
    monkeypatch.setenv(TOKEN_VARIABLE, "wrong")
    failed = kina_here(f"{pull} {desk.url}")
    assert (failed.exit_code, "token is refused" in failed.stderr) == (2, True), failed.stderr
    monkeypatch.delenv(TOKEN_VARIABLE)
    assert "LABEL_STUDIO_API_KEY is not set" in kina_here(f"{pull} {desk.url}").stderr
