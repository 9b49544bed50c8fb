/**
 * Makes the product run on a machine that has only Node with npm, or only Bun: finds or fetches Bun, installs the
 * missing dependencies, and prints the path of Bun. Plain JavaScript without dependencies, because nothing is installed
 * yet. What the installers print is shown only when they fail.
 *
 *   node src/launch.mjs --prepare src/main.ts     prepares for this program, for launch.sh, which then becomes Bun
 *   node src/launch.mjs src/main.ts               runs launch.sh as a child, for a shell in another folder
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** SHA-512 of Bun, by platform, from the packages of the npm registry. The baseline packages hold the same. */
const BUN_SHA512 = {
  'linux-x64': 'J7DseJgFLBdeAPvwmv8YK81+ScUYTSdz7zAA0Sobo+fKj5yZM1t62fSGof4j8ZnQRaKH4HRX7kx53bdyJlb5RA==',
  'linux-x64-musl': 'jQ26ey7UAAHdST17iTN61JLXfXIaT+Q2nuj+29u+kwpTHdUAcW77QdJHKj9uKToI0/wedi+i4DXB2sdhoW2Cww==',
  'linux-aarch64': 'N4XuxFyuVZ3gceChhJ8wzXZ5LO2Z7hJOY0SCbaer0bSGfcPJVXPH7NUpz6jIE+wIo8PugYOcHlhanr1z1lmi2w==',
  'linux-aarch64-musl': '0kAO7r41h50t3J6VPkDk/xarPM/aYdV9onC+XnaazDuZ0r75Kn32Ec1zOobDWg3xV8cSTkaXi3h4eSiV9MF2Ng==',
  'darwin-x64': '3zqkvJDp70LcwqxUi0pj9srfR+p3WFGhgw53tnf9tiQI+9e0895GWPAZZndPaK+3HQCVgc/yM0TxzSl95j+WBA==',
  'darwin-aarch64': 'MY+nU+61PEW/tJCcoM8xFjfGZFTdYtmDznqaHNITgXmx4LFGJw4Ju92vY6+fIy0UAI5lPVhMZUve2SkBxIQk4A==',
}

/** The programs that need no development dependencies. */
const PRODUCTION = ['src/main.ts', 'src/cli.ts']
/** Peers are left out with them: none is loaded, and TypeScript alone takes 30 MB. */
const PRODUCTION_ONLY = ['--production', '--omit=peer']

const PRODUCTION_MARK = ' production'

const PREPARE = '--prepare'

// Node 18 of Debian 12 knows no `import.meta.dirname`.
const root = fileURLToPath(new URL('..', import.meta.url))
/** The Bun that the product is made and tested with. A newer one on this machine is used instead. */
const BUN_VERSION = readManifest().engines.bun.replace('>=', '')

const modules = path.join(root, 'node_modules')
const runtime = path.join(modules, '.bun-runtime')
/** A lock that nobody touched for this long belongs to a launcher that was killed. */
const LOCK_STALE_MS = 10_000

launch(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`deskwire: ${error.message}\n`)
  process.exit(1)
})

async function launch([first, ...rest]) {
  if (first !== PREPARE) return run([first, ...rest])
  const is_production = PRODUCTION.includes(rest[0]) && !hasEverything()
  const bun = findBun() ?? (await alone(async () => findBun() ?? (await fetchBun())))
  if (!isInstalled(is_production)) {
    await alone(async () => isInstalled(is_production) || (await install(bun, is_production)))
  }
  process.stdout.write(`${bun}\n`)
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

function isInstalled(is_production) {
  try {
    return fs.readFileSync(installMark(), 'utf8') === wantedInstall(is_production)
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

/** Installs exactly what the lock says. Checks that there is a lock: `--frozen-lockfile` accepts its absence. */
async function install(bun, is_production) {
  if (!fs.existsSync(path.join(root, 'bun.lock')))
    throw new Error('bun.lock is missing: check the repository out again')
  process.stderr.write('deskwire: installing packages\n')
  const wanted = wantedInstall(is_production)
  const options = ['--frozen-lockfile', ...(is_production ? PRODUCTION_ONLY : [])]
  const status = await finish(bun, ['install', ...options], root)
  if (status !== 0) throw new Error(`the dependencies cannot be installed (bun install ended with ${status})`)
  fs.writeFileSync(installMark(), wanted)
}

/** True where development dependencies were installed once: a later start keeps them. */
function hasEverything() {
  const found = fs.existsSync(installMark()) ? fs.readFileSync(installMark(), 'utf8') : PRODUCTION_MARK
  return !found.endsWith(PRODUCTION_MARK)
}

function installMark() {
  return path.join(modules, '.deskwire-installed')
}

/**
 * The hash of all that the install depends on: the manifest, the lock, the patches that the manifest names, its kind.
 */
function wantedInstall(is_production) {
  const manifest = fs.readFileSync(path.join(root, 'package.json'), 'utf8')
  const patches = Object.values(readManifest().patchedDependencies ?? {})
  const hash = createHash('sha256').update(manifest)
  for (const file of ['bun.lock', ...patches]) {
    const full = path.join(root, file)
    hash.update(fs.existsSync(full) ? fs.readFileSync(full) : 'missing')
  }
  return hash.digest('hex') + (is_production ? PRODUCTION_MARK : '')
}

function readManifest() {
  return JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
}

/** Runs an installer and waits for its exit status. Prints what it printed when it fails. */
function finish(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const output = []
    const child = spawn(program, args, { cwd, env: withCaches(), stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
    child.on('error', reject)
    child.on('close', (status, signal) => {
      if (status !== 0) process.stderr.write(Buffer.concat(output))
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
  const lock = path.join(modules, '.deskwire-install.lock')
  try {
    fs.mkdirSync(modules, { recursive: true })
    fs.accessSync(modules, fs.constants.W_OK)
  } catch (error) {
    throw new Error(
      `packages are missing and cannot be installed here (${error.code}): use a checkout that you may write`,
    )
  }
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

/** Runs launch.sh as a child. Ctrl-C reaches the child from the terminal, other signals are passed on. */
function run(args) {
  const child = spawn('/bin/sh', [path.join(root, 'src/launch.sh'), ...args], { stdio: 'inherit' })
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (status, signal) => process.exit(status ?? 128 + os.constants.signals[signal]))
}
