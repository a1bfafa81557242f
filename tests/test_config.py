from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

from kina_build import config
from kina_build.config import Settings, find_config, known_keys, load_settings, parse_settings
from kina_build.errors import ConfigError


def test_nearest_file_upward_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "kina.toml").write_text("[review]\nbar = 3\n")
    assert find_config(below) == tmp_path / "kina.toml"
    monkeypatch.chdir(below)
    assert load_settings().review == {"bar": 3}
    (below / "kina.toml").write_text("")
    assert load_settings() == Settings()


def test_unknown_table_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"kina.toml: dedupe: unknown key") as caught:
        parse_settings({"dedupe": {}})
    assert caught.value.hint == "did you mean dedup?"


def test_unknown_key_in_every_table_is_refused() -> None:
    tables = [name for name in Settings.model_fields if name not in {"review", "project"}]
    assert tables
    for name in tables:
        with pytest.raises(ConfigError, match=rf"{name}\.no_such_key: unknown key"):
            parse_settings({name: {"no_such_key": 1}})


def test_bad_toml_and_missing_file_are_config_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[dedup")
    with pytest.raises(ConfigError, match=r"bad.toml: "):
        load_settings(tmp_path / "bad.toml")
    with pytest.raises(ConfigError, match="no such file"):
        load_settings(tmp_path / "none.toml")


def test_every_number_is_explained() -> None:
    tree = ast.parse(Path(config.__file__).read_text(encoding="utf-8"))
    bare = [
        f"{section.name}.{ast.unparse(field.target)}"
        for section in ast.walk(tree)
        if isinstance(section, ast.ClassDef) and section.name.endswith("Rules")
        for field, after in itertools.zip_longest(section.body, section.body[1:])
        if isinstance(field, ast.AnnAssign)
        and not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]
    assert bare == []


def test_known_keys_are_dotted() -> None:
    assert "dedup" in known_keys(Settings)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 3000 + "]" * 3000, "nan", "inf", "-inf", '"NaN"'])
def test_a_value_that_no_setting_can_have_is_one_line(tmp_path: Path, value: str) -> None:
    (tmp_path / "kina.toml").write_text(f"[dedup]\ncross_margin = {value}\n")
    with pytest.raises(ConfigError, match=r"kina\.toml: "):
        load_settings(tmp_path / "kina.toml")
