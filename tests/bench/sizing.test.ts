/** `bun run bench sizing` counts what agents with the console in view ask for. */
import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { EVERY_MS } from '../../src/console/page/live'
import { SECONDS_OF_LOOK } from './sizing-costs'

test('each agent who has the console in view reads a list and a ticket every 5 seconds', () => {
  expect(SECONDS_OF_LOOK * 1000).toBe(EVERY_MS)
  expect(readAnew('50')).toEqual(['10', '10'])
  expect(readAnew('0')).toEqual(['0', '0'])
})

/** Requests a second of both kinds. */
function readAnew(agents: string): string[] {
  const env = { ...process.env, BENCH_AGENTS: agents }
  const { stdout } = spawnSync(process.execPath, [path.join(import.meta.dir, 'sizing.ts')], { env, encoding: 'utf8' })
  return [...stdout.matchAll(/read anew *\| *([\d.]+)/g)].map(([, count]) => Number(count).toString())
}
