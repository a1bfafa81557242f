"""`python -m docs.generate` writes the generated pages, and the diagram of CONTRIBUTING."""

from docs.generate import write
from docs.generate.architecture import refresh

for path in write():
    print(path.name)
refresh()
