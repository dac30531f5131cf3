# One image: the bot, with the sandbox engine beside it. Sandboxes need user namespaces; `preview doctor` says more.
FROM python:3.13-slim-trixie

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git nodejs npm util-linux \
    && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv \
    && useradd --create-home --uid 1000 preview \
    && install --directory --owner preview /app /data

USER preview
ENV UV_COMPILE_BYTECODE=1
WORKDIR /app
COPY --chown=preview pyproject.toml uv.lock README.md ./
RUN uv sync --frozen --no-dev --no-install-project
COPY --chown=preview bot bot
COPY --chown=preview webhooks webhooks
RUN uv sync --frozen --no-dev

ENV PATH=/app/.venv/bin:$PATH PREVIEW_DATA_DIR=/data PREVIEW_HOST=0.0.0.0 PREVIEW_PORT=8080
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
CMD ["preview", "serve"]
