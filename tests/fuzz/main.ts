/**
 * `bun run fuzz [--seed=N] [--requests N]`: generated requests against the whole API, 20,000 by default. A failure
 * shows the simplest request that causes it; the same seed gives the same requests again.
 */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { seed: { type: 'string' }, requests: { type: 'string' } } })
const seed = values.seed ?? String(crypto.getRandomValues(new Int32Array(1))[0])
const requests = values.requests ?? '20000'
if (![seed, requests].every((value) => /^-?\d{1,10}$/.test(value))) {
  console.error('usage: bun run fuzz [--seed=N] [--requests N]')
  process.exit(2)
}

console.log(`${requests} requests, seed ${seed}`)
const runner = spawn(process.execPath, [path.join(import.meta.dir, '../run.ts'), './tests/fuzz/requests.ts'], {
  cwd: path.join(import.meta.dir, '../..'),
  env: { ...process.env, DESKWIRE_FUZZ_SEED: seed, DESKWIRE_FUZZ_REQUESTS: requests },
  stdio: 'inherit',
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal))
runner.on('close', (code) => {
  if (code !== 0) console.error(`again: bun run fuzz --seed=${seed} --requests ${requests}`)
  process.exit(code ?? 1)
})
