/**
 * Starts the product on a machine that has only Node with npm, or only Bun: finds or fetches Bun, installs the missing
 * dependencies, then runs `bun <arguments>` in the repository. Passes signals on, and exits with the status of Bun.
 * Plain JavaScript without dependencies, because nothing is installed yet. Usage: node src/launch.mjs src/main.ts
 *
 *   npm               node src/launch.mjs         sh, then Bun               watcher
 *   npm start ------> finds or fetches Bun
 *                     installs
 *                     starts the child ---------> sh forks the watcher ----> reads the pipe from the launcher
 *                     waits                       becomes Bun, serves         |
 *   SIGTERM --------> passes it on -------------> stops, exits with 0         |
 *                     writes "ended" -------------------------------------> ends
 *                     exits with 0
 *
 *   Ctrl-C            The terminal sends SIGINT to npm and the launcher, not to Bun, which is in a separate process
 *                     group. The launcher passes it on once, although `bun run` sends it a second time.
 *   SIGKILL to npm    The launcher sees within 0.5 s that it has another parent, and sends SIGTERM to Bun.
 *   SIGKILL to the    The pipe closes without "ended". The watcher sends SIGTERM to Bun.
 *   launcher
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** The Bun that the product is made and tested with. A newer one on this machine is used instead. */
const BUN_VERSION = '1.4.5'

/** SHA-512 of its program, by platform, from the packages of the npm registry. The baseline packages hold the same. */
const BUN_SHA512 = {
  'linux-x64': 'J7DseJgFLBdeAPvwmv8YK81+ScUYTSdz7zAA0Sobo+fKj5yZM1t62fSGof4j8ZnQRaKH4HRX7kx53bdyJlb5RA==',
  'linux-x64-musl': 'jQ26ey7UAAHdST17iTN61JLXfXIaT+Q2nuj+29u+kwpTHdUAcW77QdJHKj9uKToI0/wedi+i4DXB2sdhoW2Cww==',
  'linux-aarch64': 'N4XuxFyuVZ3gceChhJ8wzXZ5LO2Z7hJOY0SCbaer0bSGfcPJVXPH7NUpz6jIE+wIo8PugYOcHlhanr1z1lmi2w==',
  'linux-aarch64-musl': '0kAO7r41h50t3J6VPkDk/xarPM/aYdV9onC+XnaazDuZ0r75Kn32Ec1zOobDWg3xV8cSTkaXi3h4eSiV9MF2Ng==',
  'darwin-x64': '3zqkvJDp70LcwqxUi0pj9srfR+p3WFGhgw53tnf9tiQI+9e0895GWPAZZndPaK+3HQCVgc/yM0TxzSl95j+WBA==',
  'darwin-aarch64': 'MY+nU+61PEW/tJCcoM8xFjfGZFTdYtmDznqaHNITgXmx4LFGJw4Ju92vY6+fIy0UAI5lPVhMZUve2SkBxIQk4A==',
}

const BUN_SETTINGS = {
  // Outgoing requests at once. With Bun's default of 256, as many silent receivers would stop all delivery.
  BUN_CONFIG_MAX_HTTP_REQUESTS: '2048',
  // Collects garbage as on a machine with 512 MB. With more memory, the garbage of large messages piles up for long.
  BUN_JSC_forceRAMSize: String(512 * 1024 * 1024),
}

/** Leaves out what only development needs, as in the container image. An install with all of it serves as well. */
const IS_PRODUCTION = process.env.NODE_ENV === 'production'

const root = path.join(import.meta.dirname, '..')
const modules = path.join(root, 'node_modules')
const runtime = path.join(modules, '.bun-runtime')
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** A lock that nobody touched for this long belongs to a launcher that was killed. */
const LOCK_STALE_MS = 10_000
/** The same signal within this time is the same Ctrl-C. */
const SAME_SIGNAL_MS = 200
/** Longest wait for the watcher to take the word that ends it. */
const LAST_WORD_MS = 1000
/** Read at once, because the parent may be killed before the service has begun. */
const parent = process.ppid

/**
 * Shell script: forks the watcher, then becomes "$@". The watcher reads descriptor 3, the pipe from the launcher. When
 * that closes without a word, the launcher was killed: the watcher sends SIGTERM, so that the service ends in order.
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

/** The first recent enough Bun: the one that runs this file, that started it, on the PATH, or fetched earlier. */
function findBun() {
  if (process.versions.bun && isRecent(process.versions.bun)) return process.execPath
  const asked = process.env.npm_execpath ?? ''
  const candidates = [
    ...(/^bun/.test(path.basename(asked)) ? [asked] : []),
    'bun',
    ...bunPackages().map((name) => fetchedBun(name)),
  ]
  return candidates.find((bun) => isRecent(versionOf(bun)))
}

function versionOf(bun) {
  return spawnSync(bun, ['--version'], { encoding: 'utf8', timeout: 10_000 }).stdout?.trim() ?? ''
}

function isRecent(version) {
  if (!/^\d+\.\d+\.\d+/.test(version)) return false
  return version.localeCompare(BUN_VERSION, 'en', { numeric: true }) >= 0
}

/** The packages with Bun's binaries. They need no install script; that of the package `bun` is blocked by npm 12. */
function bunPackages() {
  const { platform, arch } = process
  const system = platform === 'win32' ? 'windows' : platform
  const name = `@oven/bun-${system}-${arch === 'arm64' ? 'aarch64' : arch}`
  const libc = platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime ? '-musl' : ''
  // Processors without AVX2 need the baseline build.
  return arch === 'x64' ? [`${name}${libc}`, `${name}${libc}-baseline`] : [`${name}${libc}`]
}

function fetchedBun(name, folder = path.join(runtime, BUN_VERSION)) {
  return path.join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun')
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
    checkHash(name, fetchedBun(name, unfinished))
    fs.rmSync(path.join(runtime, BUN_VERSION), { recursive: true, force: true })
    fs.renameSync(unfinished, path.join(runtime, BUN_VERSION))
    if (versionOf(fetchedBun(name)) === BUN_VERSION) return fetchedBun(name)
  }
  throw new Error(`Bun ${BUN_VERSION} does not run on this machine`)
}

/** Refuses a program that is not the one the product was made with, whatever registry it came from. */
function checkHash(name, file) {
  const known = BUN_SHA512[name.replace('@oven/bun-', '').replace('-baseline', '')]
  if (createHash('sha512').update(fs.readFileSync(file)).digest('base64') === known) return
  throw new Error(`the fetched ${name} ${BUN_VERSION} has another SHA-512 than the known one: it is not run`)
}

/** The npm that started this file, else the one on the PATH. A Bun too old for the product can still install. */
function packageManager() {
  if (process.versions.bun) return [process.execPath]
  const asked = process.env.npm_execpath ?? ''
  const npm = path.basename(asked) === 'npm-cli.js' ? [process.execPath, asked] : ['npm']
  return [...npm, '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', '--prefix=.']
}

function isInstalled() {
  try {
    const found = fs.readFileSync(installMark(), 'utf8')
    return found === wantedInstall() || (IS_PRODUCTION && found === wantedInstall(''))
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

/** Installs exactly what the lock says. Checks that there is a lock: `--frozen-lockfile` accepts its absence. */
async function install(bun) {
  if (!fs.existsSync(path.join(root, 'bun.lock')))
    throw new Error('bun.lock is missing: check the repository out again')
  const wanted = wantedInstall()
  const status = await finish(bun, ['install', '--frozen-lockfile', ...(IS_PRODUCTION ? ['--production'] : [])], root)
  if (status !== 0) throw new Error(`the dependencies cannot be installed (bun install ended with ${status})`)
  fs.writeFileSync(installMark(), wanted)
}

function installMark() {
  return path.join(modules, '.deskwire-installed')
}

/**
 * The hash of all that the install depends on: the manifest, the lock, and the patches that the manifest names.
 * @param kind what tells an install without development dependencies apart
 */
function wantedInstall(kind = IS_PRODUCTION ? ' production' : '') {
  const manifest = fs.readFileSync(path.join(root, 'package.json'), 'utf8')
  const patches = Object.values(JSON.parse(manifest).patchedDependencies ?? {})
  const hash = createHash('sha256').update(manifest)
  for (const file of ['bun.lock', ...patches]) {
    const full = path.join(root, file)
    hash.update(fs.existsSync(full) ? fs.readFileSync(full) : 'missing')
  }
  return hash.digest('hex') + kind
}

/** Runs an installer and waits for its exit status. Its output goes to standard error: the other is the service's. */
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

/** The environment for installers. Their caches go to node_modules when the home is not writable, as in containers. */
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
 * Runs `work` while no other launcher runs any. The lock is a file that its holder touches every second: a file that is
 * not touched belongs to a killed launcher. A process id would say nothing to a launcher in another container.
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
    // A separate process group, which Ctrl-C in the terminal does not reach: the child gets it from us, once.
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
 * Passes signals on to the child. Ctrl-C comes from the terminal and again from `bun run`: both are passed on as one.
 * Call it before the child is started, because a signal may come as soon as there is a child.
 * @param childOf returns the child
 * @returns a function that ends it
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

/** Calls `stop` when npm was killed: it passes no signal on then, but this process gets another parent. */
function stopWithParent(stop) {
  if (!process.env.npm_lifecycle_event) return
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 500)
}
