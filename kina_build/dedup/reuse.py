"""What a run may take over from earlier ones, and what it took."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Reuse:
    """Counts of what was taken over after it was checked, and what did not pass."""

    forced: bool = False
    """Take over nothing: make all anew, and keep that instead."""
    vectors: int = 0
    """Vectors from the cache."""
    blocks: int = 0
    """Pairs of blocks that were compared before."""
    parts: int = 0
    """Finished parts of a folder of support."""
    replies: int = 0
    """Replies from the log, which were paid for before."""
    notes: list[str] = field(default_factory=list)
    """What was found changed, damaged or of an older form, and made anew; each line once."""

    def note(self, line: str) -> None:
        """Keep a line for the user, unless it was kept before."""
        if line not in self.notes:
            self.notes.append(line)

    def add(self, other: Reuse) -> None:
        """Add what a worker took over."""
        for kind in ("vectors", "blocks", "parts", "replies"):
            setattr(self, kind, getattr(self, kind) + getattr(other, kind))
        for line in other.notes:
            self.note(line)

    def counts(self, *kinds: str) -> dict[str, int]:
        """Return the counts of some kinds, for a report."""
        return {kind: getattr(self, kind) for kind in kinds}
