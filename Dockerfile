# syntax=docker/dockerfile:1
# One image for the API (with the UI), worker, beat, and setup: docker build -t jitterscope .
# Stages whose output does not depend on the platform, or is cross-compiled, run on the platform of the build.

FROM --platform=$BUILDPLATFORM node:20-trixie-slim AS frontend
WORKDIR /app/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund --loglevel=error
COPY frontend/ ./
RUN npm run --silent build

# The binaries that machines download in "Add collector".
FROM --platform=$BUILDPLATFORM golang:1.26-trixie AS collector
ARG VERSION=0.1.0
WORKDIR /app/collector
COPY collector/go.mod collector/go.sum ./
RUN go mod download
COPY collector/ ./
RUN for arch in amd64 arm64; do \
      CGO_ENABLED=0 GOARCH=$arch go build -trimpath -ldflags "-s -w -X main.version=$VERSION" \
        -o /app/bin/jitterscope-collector-linux-$arch ./cmd/jitterscope-collector || exit 1; \
    done
# The worker runs this on packet captures, so it is for the platform of the image.
ARG TARGETARCH
RUN CGO_ENABLED=0 GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w" -o /app/bin/jitterscope-evidence ./cmd/jitterscope-evidence

FROM python:3.11-slim-trixie AS backend
RUN pip install --no-cache-dir uv==0.13.8
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /app/backend
# Dependencies first: a change in our code does not download them again.
COPY backend/pyproject.toml backend/uv.lock ./
RUN uv sync --frozen --no-dev --no-install-project
COPY backend/jitterscope ./jitterscope
RUN uv sync --frozen --no-dev

FROM python:3.11-slim-trixie
LABEL org.opencontainers.image.title="Jitterscope" org.opencontainers.image.licenses="Apache-2.0"
# Same layout as in the repository: the backend expects migrations, UI, collector binaries, and their unit next to it.
COPY --from=backend /app/backend /app/backend
COPY migrations /app/migrations
COPY --from=frontend /app/frontend/dist /app/frontend/dist
COPY --from=collector /app/bin /app/bin
COPY collector/systemd /app/collector/systemd
# One thread per library: parallelism comes from processes. Each malloc arena would keep the memory of its largest request.
ENV PATH=/app/backend/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MALLOC_ARENA_MAX=2 JITTERSCOPE_API_LANE=front
WORKDIR /app/backend
# Mount point for uploaded evidence files: a new volume inherits its owner from here.
RUN mkdir -m 700 /evidence && chown 10001:10001 /evidence
# Numeric, so that Kubernetes can verify that the user is not root. The user owns nothing else in the image.
USER 10001:10001
EXPOSE 8000
CMD ["uvicorn", "--factory", "jitterscope.main:create_app", "--host", "0.0.0.0", "--port", "8000", \
     "--no-server-header", "--no-access-log", "--no-proxy-headers", "--timeout-graceful-shutdown", "10", "--log-level", "warning"]
