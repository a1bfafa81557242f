"""Report: self-contained HTML pages over the artefacts of one folder."""
