# The same entry point as on a bare machine: `bun start`.
# A tag can be moved. Name the image by its digest: --build-arg BUN_IMAGE=oven/bun@sha256:...
ARG BUN_IMAGE=oven/bun:1.4.5-debian
FROM ${BUN_IMAGE} AS dependencies
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
COPY src/launch.mjs src/launch.mjs
COPY src/db/patches src/db/patches
RUN bun src/launch.mjs --prepare src/main.ts

FROM ${BUN_IMAGE}
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json bun.lock bunfig.toml tsconfig.json ./
COPY drizzle drizzle
COPY src src
RUN mkdir -m 0700 /data && chown bun:bun /data
USER bun
ENV DATA_DIR=/data
VOLUME /data
EXPOSE 3000 2525
# The start migrates the database, which may take minutes. The first success ends the period.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15m \
  CMD bun -e "const r = await fetch('http://127.0.0.1:' + (process.env.PORT ?? 3000) + '/readyz'); process.exit(r.ok ? 0 : 1)"
STOPSIGNAL SIGTERM
CMD ["bun", "start"]
