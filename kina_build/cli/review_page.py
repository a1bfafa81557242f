"""Table [review] of kina.toml: checked here, because only the command line knows both packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from kina_build.config import Settings
    from review.rubric import ReviewRules


def review_rules(settings: Settings) -> ReviewRules:
    """Check table [review] of kina.toml and return it resolved.

    Raises:
        ConfigError: unknown key or bad value.
    """
    from kina_build.config import CONFIG_NAME, check_section
    from review.rubric import ReviewPage

    numbers = {key: value for key, value in settings.review.items() if key != "batch"}  # the project's
    return check_section(ReviewPage, {"review": numbers}, CONFIG_NAME).review


def read_instant(text: str, option: str) -> datetime:
    """Read an instant that an option gives; without an offset it is UTC.

    Raises:
        UsageError: it is none.
    """
    from datetime import UTC, datetime

    from kina_build.errors import UsageError

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text!r} is no instant", hint="such as 2026-03-31T23:59:59Z") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
