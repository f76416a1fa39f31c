# Everything sets itself up in a private .venv; nothing is installed outside this folder.

PYTHON ?= python3
BIN := .venv/bin
TOOLS := .venv/tools/bin
PIP := -m pip --quiet --disable-pip-version-check install
# A lock is whole: nothing is left to resolve. Bytecode is made on all cores, or at the first import.
LOCKED := $(PIP) --require-hashes --no-deps --no-compile
COMPILE := -m compileall -qq -j 0
SITE := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header

.PHONY: help serve demo test soak load wheel-check adapters-check check format site typescript screenshots messages licences audit sbom lock clean

help:  ## Say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

serve: .venv/app  ## Run the server with a small sample in it; Ctrl-C stops it
	@exec $(BIN)/remembrancer --data-dir .data serve --sample

demo: .venv/app  ## Play the sample through a server on throw-away data
	@exec $(BIN)/remembrancer demo

test: .venv/dev  ## Run the whole test suite
	@command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome || \
		echo "No Chromium is installed: the tests that look at pages will be skipped."
	@# Processes that tests start are much slower to start without bytecode. A test that hangs fails,
	@# and says where; a process that dies ends the run.
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --dist loadscope --no-loadscope-reorder --durations 10 \
		--timeout 600 --max-worker-restart 0

soak: .venv/dev  ## Run the long random tests: lives, requests, files (about half an hour)
	$(BIN)/pytest -n 2 -m soak

load: .venv/dev .venv/load/bin/locust  ## Measure a server under load, and under far too much (25 minutes)
	$(BIN)/python -m benchmarks.load

wheel-check: .venv/dev  ## Install the wheel as a project would, and try it (three minutes)
	$(BIN)/pytest -q -n 4 --dist loadgroup --timeout 1200 -m wheel tests/wheel

adapters-check: .venv/frameworks  ## Try the frameworks that do not fit beside the rest (a minute)
	PYTHONPATH=src .venv/frameworks/bin/python -m pytest -q tests/adapters/test_google_adk.py tests/adapters/test_llama_index.py

check: .venv/dev  ## Check format, lint, types and contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -s tests/contracts

format: .venv/dev  ## Format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

site: .venv/app  ## Build the documentation that `serve` shows at /docs
	$(SITE)

typescript: .venv/app  ## Make TypeScript types of the API, and check an example with them (needs npm)
	$(BIN)/remembrancer openapi > examples/typescript/openapi.json
	cd examples/typescript && npm install --silent --no-package-lock && npm run types && npm run check

screenshots: .venv/dev  ## Take the pictures of the pages in docs/pictures anew (needs Chromium)
	$(BIN)/python docs/screenshots.py

messages: .venv/dev  ## Bring the texts of the pages into the files of each language
	$(BIN)/pybabel --quiet extract --mapping pyproject.toml --keyword lazy --keyword say --keyword counted:1,2 --keyword marked:1,2 \
		--sort-output --no-location --omit-header --output-file .messages.pot .
	@for file in src/remembrancer/web/locale/*.po; do $(BIN)/pybabel --quiet update --input-file .messages.pot \
		--output-file $$file --locale $$(basename $$file .po) --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date; done
	@rm .messages.pot

licences: .venv/dev  ## Write the packages and their licences into docs/licences.md
	$(BIN)/python docs/licences_page.py

audit: .venv/tools  ## Ask PyPI or OSV about known holes in the locked packages (3: nobody answers)
	@$(TOOLS)/python requirements/audit.py

sbom: .venv/dev .venv/tools  ## Write the packages of an installation as CycloneDX into build/sbom.json
	PYTHONPATH=. $(BIN)/python requirements/sbom.py $(TOOLS)/cyclonedx-py build/sbom.json

lock:  ## Write requirements/*.txt anew from pyproject.toml (needs uv)
	$(LOCK) --extra all --group build pyproject.toml -o requirements/app.txt
	$(LOCK) --extra all --group dev pyproject.toml -o requirements/dev.txt
	$(LOCK) --extra all --extra google-adk --extra llama-index --group frameworks pyproject.toml -o requirements/frameworks.txt
	$(LOCK) --group pyproject.toml:load -o requirements/load.txt
	$(LOCK) requirements/tools.in -o requirements/tools.txt

clean:  ## Remove the environment and the data of `make serve`
	rm -rf .venv .data

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/app: requirements/app.txt pyproject.toml | .venv/bin/python
	@echo "Installing what Remembrancer needs into .venv (about a minute the first time) ..."
	@$(BIN)/python $(LOCKED) -r requirements/app.txt
	@$(BIN)/python $(PIP) --no-deps --no-build-isolation --editable .
	@$(BIN)/python $(COMPILE) src .venv/lib || true  # some systems keep no bytecode of their own accord
	@$(SITE)
	@touch $@

.venv/dev: .venv/app requirements/dev.txt requirements/no-deps.txt
	@echo "Installing what its tests need ..."
	@$(BIN)/python $(LOCKED) -r requirements/dev.txt -r requirements/no-deps.txt
	@$(BIN)/python $(COMPILE) .venv/lib || true
	@touch $@

.venv/load/bin/locust: requirements/load.txt | .venv/bin/python
	@echo "Installing what sends the load into .venv/load ..."
	@$(PYTHON) -m venv .venv/load
	@.venv/load/bin/python $(LOCKED) -r requirements/load.txt
	@touch $@

.venv/frameworks: requirements/frameworks.txt | .venv/bin/python
	@echo "Installing the frameworks that do not fit beside the rest ..."
	@$(BIN)/python -m venv $@
	@$@/bin/python $(LOCKED) -r requirements/frameworks.txt
	@$@/bin/python $(COMPILE) $@/lib || true  # a warning of the compiler would fail its tests
	@touch $@

.venv/tools: requirements/tools.txt | .venv/bin/python
	@echo "Installing what audits and lists packages ..."
	@$(BIN)/python -m venv $@
	@$(TOOLS)/python $(LOCKED) -r requirements/tools.txt
	@touch $@
