/** The HTTP app bundled for Deno, and the process that serves it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { ADMIN } from '../service'

const ROOM = path.join(import.meta.dirname, '../../../src/base/runtime')
/** In the place of each file of the room. */
const TWIN = path.join(import.meta.dirname, 'runtime.ts')

const PROGRAM = denoProgram()

/** Says why nothing runs under Deno here. */
export const WHY_NO_DENO = PROGRAM ? '' : `the package deno has no program for ${process.platform} ${process.arch}`

/** The program in the package of this platform, which `deno` depends on. Its own script would put it elsewhere. */
function denoProgram(): string | undefined {
  const system = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('deno/package.json'))
  try {
    return path.join(path.dirname(resolve(`@deno/${system}/package.json`)), 'deno')
  } catch {
    return undefined
  }
}

/** Bundles the app into one file, with the twin in the place of `base/runtime`. @returns its name */
export async function bundleForDeno(folder: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [path.join(import.meta.dirname, 'main.ts')],
    outdir: folder,
    target: 'node',
    format: 'esm',
    plugins: [
      {
        name: 'runtime',
        setup(build) {
          build.onResolve({ filter: /\/runtime\// }, ({ path: name, importer }) =>
            path.dirname(path.resolve(path.dirname(importer), name)) === ROOM ? { path: TWIN } : undefined,
          )
          build.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => ({
            contents: inPlace(await Bun.file(file).text(), file),
            loader: 'ts',
          }))
        },
      },
    ],
  })
  return outputs[0]!.path
}

/** Lets what a source says of its own place be true in the bundle as well. */
function inPlace(text: string, file: string): string {
  const { href } = pathToFileURL(file)
  return text
    .replaceAll('import.meta.url', JSON.stringify(href))
    .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)))
    .replace(/import\.meta\.resolve\('(.*)'\)/g, (_, name) => JSON.stringify(import.meta.resolve(name, href)))
}

/** Serves a bundle on a database under Deno. @throws Error with what it has printed, when it does not get ready */
export async function startUnderDeno(bundle: string, env: Record<string, string>) {
  const child = spawn(PROGRAM!, ['run', '--allow-all', '--no-config', '--cached-only', bundle], {
    env: {
      PATH: process.env.PATH,
      HOME: path.dirname(bundle),
      DENO_DIR: path.join(path.dirname(bundle), 'deno'),
      DENO_NO_UPDATE_CHECK: '1',
      SECRET_KEY: 'a secret key that only tests use',
      ADMIN_EMAIL: ADMIN.email,
      ADMIN_PASSWORD: ADMIN.password,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'exit')
  const first = once(createInterface(child.stdout), 'line').then(([line]) => Number(line))
  const port = await Promise.race([first, ended.then(() => 0)])
  if (!port) throw new Error(`the app did not start: ${output}`)
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    /** @returns the exit code */
    async stop(): Promise<number | null> {
      child.stdin.end()
      return (await ended)[0]
    },
  }
}
