"""`python -m kina_build` is `kina`."""

from kina_build.cli.main import run

if __name__ == "__main__":
    run()
