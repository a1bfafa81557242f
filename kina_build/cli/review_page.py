"""Table [review] of kina.toml: checked here, because only the command line knows both packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kina_build.config import Settings
    from review.rubric import ReviewRules


def review_rules(settings: Settings) -> ReviewRules:
    """Check table [review] of kina.toml and return it resolved.

    Raises:
        ConfigError: unknown key or bad value.
    """
    from kina_build.config import CONFIG_NAME, check_section
    from review.rubric import ReviewPage

    return check_section(ReviewPage, {"review": settings.review}, CONFIG_NAME).review
