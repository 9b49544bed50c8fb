/** `bun run bench [name]` measures on this machine; `requests` unless told. What each takes is at the top of its file. */
export {}

const BENCHES = ['requests', 'outbox', 'mail']

const [bench = 'requests'] = process.argv.slice(2)
if (!BENCHES.includes(bench)) throw new Error(`bench what? One of ${BENCHES.join(', ')}`)
// A line for each request or delivery would hide the figures.
process.env.LOG_LEVEL ??= 'warn'
await import(`./${bench}.ts`)
