"""How the docs are built: `make docs`. Nothing is fetched, and warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.generate import write  # noqa: E402  (the path to it is set above)
from docs.generate.mathml import add_renderer  # noqa: E402
from kina_build import __version__  # noqa: E402

write()

project = "kina-build"
author = "the kina-build authors"
version = release = __version__
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
nitpicky = True

myst_enable_extensions = ["deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
copybutton_here_doc_delimiter = "END"

html_theme = "furo"
html_title = f"kina-build {version}"
html_math_renderer = "mathml"
"""Of ours: MathJax would be fetched from elsewhere by every reader."""
html_copy_source = False
html_show_copyright = False


def setup(app):
    """Draw formulas as MathML, which browsers show without a script."""
    add_renderer(app)
