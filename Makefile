# `make lab` opens the lessons, `make test` runs everything that needs no GPU.
#
#   make lab PORT=8890 ARGS="--ip=0.0.0.0"
#   make test ARGS="tests/ops -k softmax"
#
# Each target installs what it needs into .venv, and only when pyproject.toml changed since.

.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:

VENV ?= .venv
# Which TensorFlow `make oracle` asks: 2.15's compat.v1, or TensorFlow 1.15 (it needs a Python 3.7).
TENSORFLOW ?= 2.15
ORACLE := $(if $(filter 1.15,$(TENSORFLOW)),oracle115,oracle)
ORACLE_VENV ?= .venv-$(ORACLE)
TORCH_VENV ?= .venv-torch
BINDER_VENV ?= .venv-binder
MUTATE_VENV ?= .venv-mutate
PORT ?=
PYODIDE ?=
ARGS ?=
# Two: the browser, JupyterLab and its kernels, or Ray, run beside the tests.
WORKERS ?= 2

# On Windows' make, .venv has Scripts/ and not bin/; the lab is supported there through
# `pip install` and `dataflow lab`.
BIN := $(VENV)/bin
INSTALL = sh tools/install.sh
PYTEST = $(BIN)/python -m pytest
# As pip does for what it installs (the peers of a benchmark among it): a checkout is installed in place, and where
# PYTHONDONTWRITEBYTECODE is set each process would compile 85 modules. Takes 0.1 s when all are.
COMPILE = $(BIN)/python -m compileall -q dataflow widgets/dataflow_widgets datasets || true

.PHONY: help lab doctor test oracle bench bench-cluster bench-gpu bench-widgets fuzz mutate cycles binder book slides site site-test lint format clean

help:
	@echo "make lab            open the lessons in JupyterLab (PORT=, ARGS=)"
	@echo "make doctor         say what this machine has, and what to do about what is missing"
	@echo "make test           run everything that needs no GPU (ARGS= for pytest)"
	@echo "make oracle         compare with a real TensorFlow, in an environment of its own (TENSORFLOW=1.15)"
	@echo "make bench          time this against TensorFlow and PyTorch"
	@echo "make bench-cluster  time clusters against TensorFlow's"
	@echo "make bench-gpu      time a GPU against its copy bandwidth, and PyTorch where it is"
	@echo "make bench-widgets  measure pictures in JupyterLab: text, room, crossings, time"
	@echo "make fuzz           feed 10,000 broken inputs of each format to what reads them"
	@echo "make mutate         change the engine at random places, and see whether a test notices"
	@echo "make cycles         launch and stop fifty clusters, and see what is left of them"
	@echo "make binder         build what binder/ describes, and run lessons in it in 2 GB"
	@echo "make book           the lessons with their outputs, as a site"
	@echo "make slides         lessons as slides, each deck one file (ARGS=\"5 10\": these)"
	@echo "make site           the course as a site whose Python runs in the browser (PYODIDE=)"
	@echo "make site-test      build that site and run its lessons whole in a browser (LESSONS=)"
	@echo "make lint           ruff and mypy"

# A stamp is newer than pyproject.toml when its extra is installed. The script holds a lock, so
# `make -j lab test`, or two terminals, do not install into one environment at once.
$(VENV)/.installed-%: pyproject.toml tools/install.sh
	@$(INSTALL) "$(VENV)" "$*"

$(ORACLE_VENV)/.installed-$(ORACLE): tools/install.sh
	@$(INSTALL) "$(ORACLE_VENV)" $(ORACLE)

$(TORCH_VENV)/.installed-torch: tools/install.sh
	@$(INSTALL) "$(TORCH_VENV)" torch

$(BINDER_VENV)/.installed-binder: pyproject.toml binder/requirements.txt tools/install.sh
	@$(INSTALL) "$(BINDER_VENV)" binder

$(MUTATE_VENV)/.installed-mutate: pyproject.toml tools/install.sh
	@$(INSTALL) "$(MUTATE_VENV)" mutate

.PRECIOUS: $(VENV)/.installed-%

lab: $(VENV)/.installed-lab
	@$(COMPILE)
	@exec $(BIN)/dataflow lab $(if $(PORT),--port $(PORT)) $(ARGS)

doctor: $(VENV)/.installed-lab
	@$(BIN)/dataflow doctor $(ARGS)

test: $(VENV)/.installed-test
	@$(COMPILE)
	$(PYTEST) -n $(WORKERS) --dist loadgroup -m "not gpu and not oracle and not binder" $(ARGS)

oracle: $(VENV)/.installed-test $(ORACLE_VENV)/.installed-$(ORACLE)
	DATAFLOW_ORACLE_PYTHON="$(abspath $(ORACLE_VENV))/bin/python" DATAFLOW_ORACLE_RELEASE=$(TENSORFLOW) \
	  $(PYTEST) -m oracle tests/oracle $(ARGS)

bench: tests/benchmarks/__main__.py $(VENV)/.installed-bench $(ORACLE_VENV)/.installed-$(ORACLE) $(TORCH_VENV)/.installed-torch
	@$(COMPILE)
	DATAFLOW_ORACLE_PYTHON="$(abspath $(ORACLE_VENV))/bin/python" \
	DATAFLOW_TORCH_PYTHON="$(abspath $(TORCH_VENV))/bin/python" \
	  $(BIN)/python -m tests.benchmarks $(ARGS)

bench-cluster: tests/benchmarks/cluster.py $(VENV)/.installed-bench $(ORACLE_VENV)/.installed-$(ORACLE)
	@$(COMPILE)
	DATAFLOW_ORACLE_PYTHON="$(abspath $(ORACLE_VENV))/bin/python" \
	  $(BIN)/python -m tests.benchmarks.cluster $(ARGS)

bench-gpu: $(VENV)/.installed-bench
	@$(COMPILE)
	$(BIN)/python -m tests.benchmarks.gpu $(ARGS)

bench-widgets: tests/benchmarks/widgets.py $(VENV)/.installed-test
	@$(COMPILE)
	$(BIN)/python -m tests.benchmarks.widgets $(ARGS)

# Some 40 minutes; `make fuzz ARGS="--inputs 1000 png csv"` takes some formats of files alone.
fuzz: $(VENV)/.installed-test
	@$(COMPILE)
	$(if $(ARGS),,DATAFLOW_FUZZ_INPUTS=10000 $(PYTEST) -rP tests/hostile/test_frames.py)
	$(BIN)/python -m tests.hostile $(ARGS)

# `make mutate ARGS="dataflow/placement --sample 80"`; see tools/mutate.py.
mutate: $(MUTATE_VENV)/.installed-mutate
	$(MUTATE_VENV)/bin/python -m tools.mutate $(ARGS)

cycles: $(VENV)/.installed-test
	DATAFLOW_LAUNCHES=50 $(PYTEST) -rP tests/cluster/management/test_cycles.py $(ARGS)

# On Linux only: memory is measured by what the kernel tells of each process.
binder: $(VENV)/.installed-test $(BINDER_VENV)/.installed-binder
	DATAFLOW_BINDER_PYTHON="$(abspath $(BINDER_VENV))/bin/python" \
	  $(PYTEST) -m binder -rP tests/binder $(ARGS)

book: $(VENV)/.installed-book
	$(BIN)/python -m tools.book $(ARGS)

slides: $(VENV)/.installed-book
	$(BIN)/python -m tools.slides $(ARGS)

# PYODIDE= names a folder of Pyodide's distribution (several joined by ":"), or an address, whose server must let pages of
# other hosts read it (Access-Control-Allow-Origin); else the public one.
site: $(VENV)/.installed-site
	PYODIDE="$(PYODIDE)" $(BIN)/python -m tools.site $(ARGS)

# Many minutes: those that the site promises to run whole, where Python has no pandas, scikit-learn or matplotlib.
LESSONS ?= 00 01 02 03 04 05 06 07 08 10 11 12 13 14 15 16 17 18 19 20 21 22
site-test: $(VENV)/.installed-test
	DATAFLOW_SITE_LESSONS="$(LESSONS)" $(PYTEST) -rP tests/browser/test_site.py -k whole $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build dist site .pytest_cache .hypothesis .mypy_cache .ruff_cache tests/browser/screenshots
