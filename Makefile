# make book, make test: each creates and fills .venv by itself, so these are the only commands a reader needs.

PYTHON ?= python3
PY := .venv/bin/python
FILLED := .venv/.filled

.PHONY: help book pdf serve test notebooks verify evidence lowest conformance portability bench address pins clean

help: ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: $(FILLED) ## build the HTML book; its last line says where it is
	@$(PY) tools/book.py

pdf: $(FILLED) ## print the built book to one PDF, _build/edgelaw.pdf (needs Chromium; a few minutes)
	@$(PY) tools/pdf.py

serve: book ## serve the built book on localhost (PORT=8000)
	@echo "Serving on http://localhost:$(or $(PORT),8000), Ctrl-C to stop."
	@$(PY) -m http.server $(or $(PORT),8000) --bind 127.0.0.1 --directory _build/html

test: $(FILLED) ## run everything: lint, imports, types, unit tests (the ledger's checks among them), chapters, book, browser, Colab
	@$(PY) tools/stages.py

notebooks: $(FILLED) ## re-execute chapters and write their outputs back (ONLY=01_spectral_condition for one)
	@$(PY) tools/chapters.py execute $(ONLY)

verify: $(FILLED) ## check every claim of the paper and the book (ONLY="D15 E12" for some, ONLY=--help for more)
	@$(PY) -m edgelaw_ledger $(ONLY)

evidence: $(FILLED) ## run the ledger's checks and write what they measured to data/evidence.json, which the book shows (ONLY="03-1 D15")
	@$(PY) data/build/evidence.py $(ONLY)

lowest: ## run the library's unit tests with the lowest versions that pyproject.toml admits
	@$(PYTHON) tools/lowest.py

conformance: ## try the samplers in Lightning, accelerate and torchdata, and write tests/conformance/RESULTS.md
	@$(PYTHON) tools/conformance.py

portability: $(FILLED) ## compare the chapters' committed outputs with those of another CPU and thread count
	@$(PY) tools/chapters.py compare --another-cpu

bench: $(FILLED) ## measure speed side by side with peers, and stated errors against true ones; write benchmarks/*.md
	@.venv/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@OMP_NUM_THREADS=1 $(PY) benchmarks/run.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/curves.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/batches.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/labels.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/calibration.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/forecasts.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/inputs.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/probes.py
	@OMP_NUM_THREADS=1 $(PY) benchmarks/cluster.py

address: $(FILLED) ## change the repository's address everywhere: make address URL=https://github.com/you/fork
	@$(PY) tools/address.py $(URL)

pins: ## resolve requirements.in afresh; rewrite requirements.txt and binder/requirements.txt
	@$(PYTHON) tools/environment.py --refresh-pins

clean: ## remove what was built, keep .venv
	rm -rf _build .pytest_cache .ruff_cache .hypothesis .coverage

$(FILLED): requirements.txt pyproject.toml tools/environment.py
	@$(PYTHON) tools/environment.py
