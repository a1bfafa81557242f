"""`python -m docs.generate` writes the generated pages."""

from docs.generate import write

for path in write():
    print(path.name)
