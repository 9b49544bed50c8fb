/**
 * Makes the files of the console from their sources, once for each process, when the page is first asked for: 0.2 s,
 * and no step that anybody has to remember. Nothing of it is on disk. What the first view does not need, such as the
 * editor, is in files of its own that the page loads when it needs them.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

type Asset = { plain: string; packed: Uint8Array<ArrayBuffer>; tag: string; type: string }
/** By file name. Those of scripts that are loaded later are made of what is in them. */
type Bundle = Map<string, Asset>

const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'
/** The other parts use what these say. */
const FIRST_STYLES = ['tokens.css', 'base.css', 'controls.css']

let made: Promise<Bundle> | undefined

/** The files of the console. @throws Error when the sources cannot be bundled; the next call tries again */
export function bundle(): Promise<Bundle> {
  made ??= make().catch((error) => {
    made = undefined
    throw error
  })
  return made
}

async function make(): Promise<Bundle> {
  const [scripts, style, frame] = await Promise.all([
    buildScripts(),
    joinStyles(),
    readFile(pathOf('page/frame.css'), 'utf8'),
  ])
  const files = [...scripts.map(([name, text]) => [name, asset(text, SCRIPT)] as const)]
  return new Map([...files, ['console.css', asset(style, STYLE)], ['frame.css', asset(frame, STYLE)]])
}

async function buildScripts(): Promise<[name: string, text: string][]> {
  const { outputs } = await Bun.build({
    entrypoints: [pathOf('page/console.tsx')],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: 'console.js', chunk: '[name]-[hash].js' },
    jsx: { runtime: 'automatic', importSource: 'preact' },
  })
  return Promise.all(
    outputs.map(async (output) => [output.path.replace(/^.*\//, ''), await output.text()] as [string, string]),
  )
}

/** Each part of the page has a file of styles. */
async function joinStyles(): Promise<string> {
  const names = (await readdir(pathOf('page/styles'))).filter((name) => !FIRST_STYLES.includes(name)).sort()
  const paths = [...FIRST_STYLES, ...names].map((name) => pathOf(`page/styles/${name}`))
  const uplot = fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css'))
  const texts = await Promise.all([uplot, ...paths].map((path) => readFile(path, 'utf8')))
  return texts.join('\n')
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}

function asset(plain: string, type: string): Asset {
  const tag = `"${createHash('sha256').update(plain).digest('hex').slice(0, 32)}"`
  return { plain, packed: Bun.gzipSync(plain), tag, type }
}
