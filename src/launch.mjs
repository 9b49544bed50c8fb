/**
 * Starts the product on a machine that has only Node with npm, or only Bun: finds or fetches Bun, installs what is
 * missing, then runs `bun <arguments>` in the repository and passes signals and the exit code on.
 * Plain JavaScript without dependencies, since nothing is installed yet. Usage: node src/launch.mjs src/main.ts
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** The Bun that the product is made and tested with. A newer one found here is used as it is. */
const BUN_VERSION = '1.4.5'

const BUN_SETTINGS = {
  // 256 outgoing requests at once by default: that many silent receivers would stop all delivery.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
  // The garbage of large messages is collected as on a machine of 512 MB; on a larger one it may pile up for long.
  BUN_JSC_forceRAMSize: String(512 * 1024 * 1024),
}

const root = path.join(import.meta.dirname, '..')
const modules = path.join(root, 'node_modules')
const runtime = path.join(modules, '.bun-runtime')
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
const LOCK_STALE_MS = 10_000
const SAME_SIGNAL_MS = 200
const LAST_WORD_MS = 1000
/** Asked at once: it may be killed before the service has begun. */
const parent = process.ppid

/**
 * Becomes "$@" and leaves a watcher that asks it to end (SIGTERM, so it finishes its work) when the launcher's end of
 * the pipe on descriptor 3 closes without a word: when the launcher was killed.
 */
const TIED_TO_US = '(read -r _ <&3 || kill -TERM $$) </dev/null >/dev/null 2>&1 & exec 3<&-; exec "$@"'

launch(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`deskwire: ${error.message}\n`)
  process.exit(1)
})

async function launch(args) {
  const bun = findBun() ?? (await alone(async () => findBun() ?? (await fetchBun())))
  if (!isInstalled()) await alone(async () => isInstalled() || (await install(bun)))
  run(bun, args)
}

/** The first Bun that is recent enough: the one running this, the one that was asked, the PATH's, the fetched one. */
function findBun() {
  if (process.versions.bun && isRecent(process.versions.bun)) return process.execPath
  const asked = process.env.npm_execpath ?? ''
  const candidates = [...(/^bun/.test(path.basename(asked)) ? [asked] : []), 'bun', ...bunPackages().map(fetchedBun)]
  return candidates.find((bun) => isRecent(versionOf(bun)))
}

function versionOf(bun) {
  return spawnSync(bun, ['--version'], { encoding: 'utf8', timeout: 10_000 }).stdout?.trim() ?? ''
}

function isRecent(version) {
  if (!/^\d+\.\d+\.\d+/.test(version)) return false
  return version.localeCompare(BUN_VERSION, 'en', { numeric: true }) >= 0
}

/** Bun's binaries need no install script, unlike the package `bun`, whose script npm 12 blocks. */
function bunPackages() {
  const { platform, arch } = process
  const system = platform === 'win32' ? 'windows' : platform
  const name = `@oven/bun-${system}-${arch === 'arm64' ? 'aarch64' : arch}`
  const libc = platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime ? '-musl' : ''
  // Processors without AVX2 need the baseline.
  return arch === 'x64' ? [`${name}${libc}`, `${name}${libc}-baseline`] : [`${name}${libc}`]
}

function fetchedBun(name) {
  return path.join(runtime, BUN_VERSION, 'node_modules', name, 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun')
}

async function fetchBun() {
  process.stderr.write(`deskwire: fetching Bun ${BUN_VERSION}\n`)
  for (const name of bunPackages()) {
    const unfinished = path.join(runtime, 'unfinished')
    fs.rmSync(unfinished, { recursive: true, force: true })
    fs.mkdirSync(unfinished, { recursive: true })
    const manifest = { private: true, dependencies: { [name]: BUN_VERSION } }
    fs.writeFileSync(path.join(unfinished, 'package.json'), JSON.stringify(manifest))
    const [program, ...args] = packageManager()
    const status = await finish(program, [...args, 'install', '--ignore-scripts'], unfinished)
    if (status !== 0)
      throw new Error(`Bun ${BUN_VERSION} cannot be fetched (${path.basename(program)} ended with ${status})`)
    fs.rmSync(path.join(runtime, BUN_VERSION), { recursive: true, force: true })
    fs.renameSync(unfinished, path.join(runtime, BUN_VERSION))
    if (versionOf(fetchedBun(name)) === BUN_VERSION) return fetchedBun(name)
  }
  throw new Error(`Bun ${BUN_VERSION} does not run on this machine`)
}

/** The npm that started us, else the one on the PATH; a Bun that is too old for the product can still install. */
function packageManager() {
  if (process.versions.bun) return [process.execPath]
  const asked = process.env.npm_execpath ?? ''
  const npm = path.basename(asked) === 'npm-cli.js' ? [process.execPath, asked] : ['npm']
  return [...npm, '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', '--prefix=.']
}

function isInstalled() {
  try {
    return fs.readFileSync(installMark(), 'utf8') === wantedInstall()
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

/** Frozen: what is installed is what the lock says. Bun itself accepts a missing lock in silence. */
async function install(bun) {
  if (!fs.existsSync(path.join(root, 'bun.lock')))
    throw new Error('bun.lock is missing: check the repository out again')
  const wanted = wantedInstall()
  const status = await finish(bun, ['install', '--frozen-lockfile'], root)
  if (status !== 0) throw new Error(`the dependencies cannot be installed (bun install ended with ${status})`)
  fs.writeFileSync(installMark(), wanted)
}

function installMark() {
  return path.join(modules, '.deskwire-installed')
}

/** What the install depends on: lock, manifest and the patches that it names. */
function wantedInstall() {
  const manifest = fs.readFileSync(path.join(root, 'package.json'), 'utf8')
  const patches = Object.values(JSON.parse(manifest).patchedDependencies ?? {})
  const hash = createHash('sha256').update(manifest)
  for (const file of ['bun.lock', ...patches]) {
    const full = path.join(root, file)
    hash.update(fs.existsSync(full) ? fs.readFileSync(full) : 'missing')
  }
  return hash.digest('hex')
}

/** Runs an installer, whose output is no output of ours, and waits for its exit status. */
function finish(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const stop = passSignals(() => child)
    const child = spawn(program, args, { cwd, env: withCaches(), stdio: ['ignore', 2, 2] })
    child.on('error', reject)
    child.on('exit', (status, signal) => {
      stop()
      resolve(status ?? signal)
    })
  })
}

/** An account without a usable home (a container's, a daemon's) keeps the installers' caches in node_modules. */
function withCaches() {
  const home = process.env.HOME || '/nonexistent'
  try {
    fs.accessSync(home, fs.constants.W_OK)
    return process.env
  } catch {
    const cache = path.join(modules, '.cache')
    return {
      ...process.env,
      HOME: cache,
      BUN_INSTALL_CACHE_DIR: path.join(cache, 'bun'),
      npm_config_cache: `${cache}/npm`,
    }
  }
}

/**
 * Runs `work` while no other launcher does. The holder keeps touching its file, so that the file of one that was
 * killed can be told from it, in another container too, where process ids say nothing.
 */
async function alone(work) {
  fs.mkdirSync(modules, { recursive: true })
  const lock = path.join(modules, '.deskwire-install.lock')
  while (!createNew(lock)) {
    const { mtimeMs = Date.now() } = fs.statSync(lock, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > LOCK_STALE_MS) fs.rmSync(lock, { force: true })
    else await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const touch = setInterval(() => fs.utimesSync(lock, new Date(), new Date()), LOCK_STALE_MS / 10)
  try {
    return await work()
  } finally {
    clearInterval(touch)
    fs.rmSync(lock, { force: true })
  }
}

function createNew(file) {
  try {
    fs.writeFileSync(file, '', { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function run(bun, args) {
  passSignals(() => child)
  const child = spawn('/bin/sh', ['-c', TIED_TO_US, 'sh', bun, ...args], {
    cwd: root,
    env: { ...BUN_SETTINGS, ...process.env },
    // Ctrl-C reaches the process group of the terminal; the child gets it from us, once.
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
  })
  stopWithParent(() => child.kill('SIGTERM'))
  child.on('error', (error) => {
    process.stderr.write(`deskwire: ${error.message}\n`)
    process.exit(1)
  })
  child.on('exit', (status, signal) => {
    const exit = () => process.exit(status ?? 128 + os.constants.signals[signal])
    const [, , , tie] = child.stdio
    tie.on('error', exit)
    tie.end('ended\n', exit)
    setTimeout(exit, LAST_WORD_MS)
  })
}

/**
 * Ctrl-C comes from the terminal and once more from `bun run`: what comes twice at once is passed on once. To be called
 * before the child is started, which may be asked for by a signal as soon as it is there.
 * @param childOf gives the child
 */
function passSignals(childOf) {
  const last = {}
  const pass = (signal) => {
    const now = Date.now()
    if (now - (last[signal] ?? 0) > SAME_SIGNAL_MS) childOf().kill(signal)
    last[signal] = now
  }
  for (const signal of SIGNALS) process.on(signal, pass)
  return () => {
    for (const signal of SIGNALS) process.off(signal, pass)
  }
}

/** `npm start` that is killed cannot tell us; one that ends has passed its signal on before. */
function stopWithParent(stop) {
  if (!process.env.npm_lifecycle_event) return
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 500)
}
