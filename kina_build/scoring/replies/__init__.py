"""Which letter does a reply answer with?"""

from kina_build.scoring.replies.extract import extract_letter
from kina_build.scoring.replies.labels import labels
from kina_build.scoring.replies.outcome import EXTRACTOR_VERSION, Extraction, LetterStatus

__all__ = [
    "EXTRACTOR_VERSION",
    "Extraction",
    "LetterStatus",
    "extract_letter",
    "labels",
]
