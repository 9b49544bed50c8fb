/** Commands of the operator on a terminal, and a database that lets them wait at a statement. */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { until } from './service'
import { startTcpProxy } from './tcp-proxy'

const CLI = path.join(import.meta.dirname, '../../src/cli.ts')

/**
 * Starts a command whose standard error is a terminal.
 * @param output the file that gets its standard output
 */
export function startOnTerminal(args: string[], env: Record<string, string>, output: string) {
  const { PATH, HOME, TMPDIR } = process.env
  let shown = ''
  const show = (bytes: Uint8Array) => {
    shown += Buffer.from(bytes).toString()
  }
  const child = Bun.spawn(
    ['sh', '-c', 'output=$1; shift; exec "$@" > "$output"', 'sh', output, process.execPath, CLI, ...args],
    {
      cwd: path.dirname(CLI),
      env: { PATH, HOME, TMPDIR, TERM: 'xterm', LOG_LEVEL: 'warn', ...env },
      terminal: { cols: 100, rows: 30, data: (_, bytes) => show(bytes) },
    },
  )
  return {
    /** All that the terminal got, with what moves its cursor. */
    raw: () => shown,
    /** Waits until a line of it is so. */
    sees: (line: RegExp) =>
      until(`${line} on the terminal`, () => line.test(stripVTControlCharacters(shown)), 60_000).catch((error) => {
        throw new Error(`${error.message}: ${JSON.stringify(shown)}`)
      }),
    async end(): Promise<{ code: number; stdout: string }> {
      const code = await child.exited
      return { code, stdout: readFileSync(output, 'utf8') }
    },
  }
}

/** A way to a database on which one statement waits. */
export async function holdStatement(url: string, words: string) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const proxy = await startTcpProxy(url, (client: Socket, upstream: Socket) => {
    upstream.pipe(client)
    client.on('data', async (chunk) => {
      if (chunk.includes(words)) {
        client.pause()
        await released
        client.resume()
      }
      upstream.write(chunk)
    })
  })
  return { url: proxy.url, release, [Symbol.dispose]: () => proxy[Symbol.dispose]() }
}
