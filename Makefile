# make demo       set up what is needed and check one scenario
# make check      style, types and tests (CI calls this and nothing else)
# make check-all  the same, and the long sweeps
# make bench      the benchmarks
# make install    install again, whatever the stamps say
# make clean      remove the environment, builds and caches
#
# The environment is .venv, made with $(PYTHON). The strict editable install links single files, so that type checkers find them; a new
# or removed file needs the install again, which happens by itself: the stamps depend on pyproject.toml and on the list of source files.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

SOURCES := $(shell find spec model checker \( -name '*.py' -o -name '*.toml' -o -name py.typed \) ! -name '.*' | LC_ALL=C sort)
ONE_AT_A_TIME := $(shell command -v flock >/dev/null 2>&1 && echo flock $(VENV)/lock)
PIP := $(ONE_AT_A_TIME) $(BIN)/python -m pip --disable-pip-version-check --quiet
EDITABLE := install --no-build-isolation --config-settings editable_mode=strict --editable

.PHONY: demo check check-all bench install clean lint types FORCE

demo: $(VENV)/installed-for-use
	@echo '$$ roamcheck check child-above-parent'
	@$(BIN)/roamcheck check child-above-parent; code=$$?; \
	case $$code in \
	1) echo; echo 'Exit code 1: violations were found, as this scenario is meant to show.' ;; \
	0) echo; echo 'Exit code 0, but this scenario has violations to find: something is wrong.'; exit 1 ;; \
	*) exit $$code ;; \
	esac

check: lint types
	$(BIN)/pytest -n auto --maxprocesses 8

check-all: lint types
	$(BIN)/pytest -n auto --maxprocesses 8 -m ''

lint: $(VENV)/installed-for-work
	$(BIN)/ruff check

types: $(VENV)/installed-for-work
	$(BIN)/mypy -p roamcheck

bench: $(VENV)/installed-for-use
	$(BIN)/python benchmarks/engines.py

install: $(VENV)/made
	@rm -f $(VENV)/installed-for-work
	@$(MAKE) --no-print-directory $(VENV)/installed-for-work

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/installed-for-use: $(VENV)/made $(VENV)/sources pyproject.toml
	@echo 'Installing roamcheck into $(VENV) …'
	@$(PIP) $(EDITABLE) '.'
	@touch $@

$(VENV)/installed-for-work: $(VENV)/made $(VENV)/sources pyproject.toml
	@echo 'Installing roamcheck and its tools into $(VENV) …'
	@$(PIP) $(EDITABLE) '.[dev,guides,spark]'
	@touch $(VENV)/installed-for-use $@

# The list of source files, rewritten only when it differs.
$(VENV)/sources: $(VENV)/made FORCE
	@printf '%s\n' $(SOURCES) | cmp -s - $@ || printf '%s\n' $(SOURCES) > $@

$(VENV)/made:
	@command -v '$(PYTHON)' >/dev/null || { echo 'There is no $(PYTHON) here; name a Python 3.11 or newer: make PYTHON=…' >&2; exit 2; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "roamcheck needs Python 3.11 or newer, but $(PYTHON) is $$('$(PYTHON)' --version 2>&1); name another: make PYTHON=…" >&2; exit 2; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || \
	{ echo '$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv' >&2; exit 2; }
	@echo 'Making $(VENV) …'
	@'$(PYTHON)' -m venv $(VENV)
	@$(PIP) install 'setuptools>=77'
	@touch $@
