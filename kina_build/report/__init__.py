"""Report: self-contained HTML pages over the artefacts."""
