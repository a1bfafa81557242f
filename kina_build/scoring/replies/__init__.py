"""Which letter does a reply answer with?"""

from kina_build.scoring.replies.extract import EXTRACTOR_VERSION, Extraction, LetterStatus, extract_letter
from kina_build.scoring.replies.labels import labels
from kina_build.scoring.replies.public import EXTRACTORS, OURS, RANDOM_FALLBACK, extract_by

__all__ = [
    "EXTRACTORS",
    "EXTRACTOR_VERSION",
    "OURS",
    "RANDOM_FALLBACK",
    "Extraction",
    "LetterStatus",
    "extract_by",
    "extract_letter",
    "labels",
]
