# A model server: docs/serve.md. Runs as a user without privileges, on a read-only file system.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/separatrix \
    && /opt/separatrix/bin/pip install --no-cache-dir --disable-pip-version-check '.[serve]'
# Compiled here: the running container can write nothing.
ENV NUMBA_CACHE_DIR=/opt/separatrix/numba
RUN /opt/separatrix/bin/separatrix compile

FROM python:3.12-slim
RUN useradd --system --uid 10001 --no-create-home separatrix
COPY --from=build /opt/separatrix /opt/separatrix
ENV PATH=/opt/separatrix/bin:$PATH NUMBA_CACHE_DIR=/opt/separatrix/numba \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
ENTRYPOINT ["separatrix", "serve", "--host", "0.0.0.0", "--port", "8000"]
