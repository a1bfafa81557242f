"""Scores of replies that enumerate a whole universe of names."""

from kina_build.scoring.lists.match import MATCHINGS, Matched, Matching, add_judged, match_names
from kina_build.scoring.lists.parse import ListReading, parse_names, read_list
from kina_build.scoring.lists.score import (
    FORM,
    ListReply,
    Outcome,
    Seed,
    UniverseScores,
    match_replies,
    read_replies,
    read_seeds,
    sum_up,
)

__all__ = [
    "FORM",
    "MATCHINGS",
    "ListReading",
    "ListReply",
    "Matched",
    "Matching",
    "Outcome",
    "Seed",
    "UniverseScores",
    "add_judged",
    "match_names",
    "match_replies",
    "parse_names",
    "read_list",
    "read_replies",
    "read_seeds",
    "sum_up",
]
