/**
 * Makes the files of the console from their sources, once for each process, when the page is first asked for: 0.2 s,
 * and no step that anybody has to remember. An image keeps the files (`keep-bundle.ts`) and leaves the packages out.
 * The editor, and other parts that the first view does not need, are separate files that the page loads later.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundlePage } from '../base/runtime/bundler'

type Asset = { plain: string; packed: Uint8Array<ArrayBuffer>; tag: string; type: string }
type File = [name: string, text: string, type: string]
/** By file name. Those of scripts that are loaded later are made of what is in them. */
type Bundle = Map<string, Asset>

const SCRIPT = 'text/javascript; charset=utf-8'
const STYLE = 'text/css; charset=utf-8'
/** The other parts use what these say. */
const FIRST_STYLES = ['tokens.css', 'base.css', 'controls.css']

/** Only images have it. */
export const KEPT = pathOf('kept.json')

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
  const files: File[] = existsSync(KEPT) ? JSON.parse(await readFile(KEPT, 'utf8')) : await makeFiles()
  return new Map(files.map(([name, text, type]) => [name, asset(text, type)]))
}

/** Makes the files from their sources. */
export async function makeFiles(): Promise<File[]> {
  const [scripts, style, frame] = await Promise.all([
    bundlePage(pathOf('page/console.tsx')),
    joinStyles(),
    readFile(pathOf('page/frame.css'), 'utf8'),
  ])
  const files = scripts.map(([name, text]): File => [name, text, SCRIPT])
  return [...files, ['console.css', style, STYLE], ['frame.css', frame, STYLE]]
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
  return { plain, packed: gzipSync(plain), tag, type }
}
