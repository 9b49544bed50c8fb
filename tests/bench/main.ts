/** Runs `bun run bench [name]`, `requests` by default. The top of each file says what it measures. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const BENCHES = ['requests', 'outbox', 'mail', 'bodies']

const [bench = 'requests'] = process.argv.slice(2)
if (!BENCHES.includes(bench)) throw new Error(`bench what? One of ${BENCHES.join(', ')}`)
const dir = mkdtempSync(path.join(tmpdir(), 'deskwire-bench-'))
// As root the server runs as another user, who has to get in.
chmodSync(dir, 0o711)
process.env.TMPDIR = dir
process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
// A line for each request or delivery would hide the figures.
process.env.LOG_LEVEL ??= 'warn'
await import(`./${bench}.ts`)
