"""`kina`, also as `python -m kina_build`: a package without which nothing starts is one line."""

from __future__ import annotations

import sys

OWN = ("kina_build", "kina_review")


def run() -> None:
    """Start the command line (the console script)."""
    try:
        from kina_build.cli.main import run as start
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in OWN:
            raise
        print(f"error: the package {package} cannot be loaded: {error}", file=sys.stderr)
        print(f"hint: pip install {package.replace('_', '-')}", file=sys.stderr)
        raise SystemExit(2) from None
    start()


if __name__ == "__main__":
    run()
