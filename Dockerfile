# Two stages: wheels are built where a compiler may be, and run where none is.
FROM python:3.13.9-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY instrumentation instrumentation
COPY collector collector
COPY analyzer analyzer
COPY demo demo
RUN python -m venv /opt/spanwise && /opt/spanwise/bin/pip install ".[server]"

FROM python:3.13.9-slim-bookworm
RUN groupadd --gid 10001 spanwise \
    && useradd --uid 10001 --gid spanwise --no-create-home --shell /usr/sbin/nologin spanwise \
    && install --directory --owner=spanwise --group=spanwise /data
COPY --from=build /opt/spanwise /opt/spanwise
ENV PATH=/opt/spanwise/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    SPANWISE_DB=/data/spanwise.duckdb SPANWISE_HOST=0.0.0.0
USER 10001:10001
VOLUME /data
EXPOSE 4317 4318 4320
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:4320/readyz', timeout=2)"]
ENTRYPOINT ["spanwise"]
CMD ["serve"]
