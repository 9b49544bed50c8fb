/**
 * Makes the files of the console from their sources, once for each process, when the page is first asked for: 0.1 s,
 * and no step that anybody has to remember. Nothing of it is on disk.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

type Asset = { plain: string; packed: Uint8Array<ArrayBuffer>; tag: string }
export type Bundle = Record<'console.js' | 'console.css' | 'frame.css', Asset>

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
  const [script, uplot, style, frame] = await Promise.all([
    build(),
    readFile(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css')), 'utf8'),
    readFile(pathOf('page/console.css'), 'utf8'),
    readFile(pathOf('page/frame.css'), 'utf8'),
  ])
  return { 'console.js': asset(script), 'console.css': asset(`${uplot}\n${style}`), 'frame.css': asset(frame) }
}

async function build(): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [pathOf('page/console.tsx')],
    target: 'browser',
    minify: true,
    jsx: { runtime: 'automatic', importSource: 'preact' },
  })
  return outputs[0]!.text()
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}

function asset(plain: string): Asset {
  const tag = `"${createHash('sha256').update(plain).digest('hex').slice(0, 32)}"`
  return { plain, packed: Bun.gzipSync(plain), tag }
}
