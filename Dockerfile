# The image that both stages begin with, by its digest: a tag may name another one tomorrow. docs/operations.md, "Docker",
# says how to renew it.
ARG PYTHON=python:3.11-slim@sha256:db3ff2e1800a8581e2c48a27c3995339d47bdf046da21c7627accd3d51053a93

FROM ${PYTHON} AS builder
WORKDIR /src
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/gateway \
    && /opt/gateway/bin/pip install --no-cache-dir --require-hashes --requirement requirements.txt \
    && pip install --no-cache-dir --require-hashes --requirement requirements-build.txt
COPY requirements-node.txt ./
COPY web web
RUN python web/build.py --without-checks
COPY pyproject.toml README.md LICENSE ./
COPY docs docs
COPY prompts prompts
COPY gateway gateway
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/gateway/bin/pip install --no-cache-dir --no-deps --no-index /dist/*.whl

FROM ${PYTHON}
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin gateway \
    && install --directory --owner gateway --group gateway /data
COPY --from=builder /opt/gateway /opt/gateway
ENV PATH=/opt/gateway/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    GATEWAY_DATA_DIR=/data
USER 10001
WORKDIR /home/gateway
VOLUME /data
EXPOSE 8000
# /healthz answers while the process serves; an image without curl has Python.
HEALTHCHECK --interval=15s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ.get('GATEWAY_PORT') or 8000}/healthz\", timeout=2)"]
ENTRYPOINT ["gateway"]
CMD ["serve", "--host", "0.0.0.0"]
