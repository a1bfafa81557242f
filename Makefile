# Targets for people who work on kina-build; `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
# let uv look where pip looks: a small CPU build of torch may lie there
export UV_FIND_LINKS ?= $(or $(PIP_FIND_LINKS),$(shell $(PYTHON) -m pip config get global.find-links 2>/dev/null))
DATA ?= ../shared/data
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help demo real test test-live soak lint lock docs notebooks clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip install --quiet -c constraints.txt -e '.[dev,docs]'
	touch $(STAMP)

demo: $(STAMP) ## set up and run the whole flow on the bundled questions, offline
	$(BIN)/kina demo --into demo

real: $(STAMP) ## run the flow on public corpora: make real DATA=../shared/data
	$(BIN)/python -m benchmarks.real --data $(DATA) --into real

test: $(STAMP) ## set up and run the tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-live: $(STAMP) ## tests against real servers, harnesses and a browser, on loopback
	$(BIN)/python -m pytest -m live

soak: $(STAMP) ## the long run: damaged files against every command; goes on where it stopped
	$(BIN)/python -m tests.soak --jobs 2

lint: $(STAMP) ## ruff, mypy strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: $(STAMP) ## recompile constraints.txt after a change of dependencies
	UV_FIND_LINKS= $(BIN)/uv pip compile --quiet --universal --all-extras --strip-extras \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' \
	  pyproject.toml pins.txt -o constraints.txt

docs: $(STAMP) ## build the docs into docs/build/html, without network; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/build/trees docs docs/build/html

notebooks: $(STAMP) ## execute the notebooks
	$(BIN)/python -m pytest -m live tests/test_notebooks.py

clean: ## remove what the targets made
	rm -rf .venv demo real dist docs/build docs/generated .soak .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
