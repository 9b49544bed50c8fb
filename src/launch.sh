#!/bin/sh
# Runs a program of this repository with Bun: sh src/launch.sh src/main.ts [ARGUMENT ...]
# launch.mjs finds or fetches Bun and installs what is missing. Then this process becomes Bun: no launcher takes memory, and
# signals of npm and of the terminal reach the program without a second process that passes them on.
cd "$(dirname "$0")/.." || exit
node=$(command -v node || command -v bun) || {
  echo 'deskwire: neither Node (with npm) nor Bun is installed' >&2
  exit 1
}
bun=$("$node" src/launch.mjs --prepare "$@") || exit

# Outgoing requests at once. With Bun's default of 256, as many silent receivers would stop all delivery.
export BUN_CONFIG_MAX_HTTP_REQUESTS="${BUN_CONFIG_MAX_HTTP_REQUESTS:-2048}"
# Threads that wait for the disk. Bun's default is one for each processor: two files at a time would be flushed.
export UV_THREADPOOL_SIZE="${UV_THREADPOOL_SIZE:-16}"
# Collects garbage as on a machine with 512 MB. With more memory, the garbage of large messages piles up for long.
export BUN_JSC_forceRAMSize="${BUN_JSC_forceRAMSize:-536870912}"
exec "$bun" "$@"
