/**
 * `bun run bench bodies`: how long the worst JSON bodies of 8 MiB block the service. Each body is sent over a real
 * socket while `/healthz` is asked every 2 ms; the longest wait for `/healthz` is how long the process did nothing
 * else. The processor time counts other programs less, but it includes the questions for `/healthz` and what other
 * threads do. Settings: BENCH_ROUNDS (3), of which the median counts.
 */
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startService } from '../support/service'
import { cpuOf, treeOf } from './processes'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SIZE = 8 * 1024 * 1024

/** A body of 8 MiB: as many repeats of `unit` as there is room for, between a beginning and an end. */
function filled(begin: string, unit: string, end: string): string {
  return begin + unit.repeat(Math.floor((SIZE - begin.length - end.length - 1) / unit.length)) + end
}

const keys = Array.from({ length: 700_000 }, (_, i) => `"k${i}":1`).join(',')
const items = (count: number, item: string) => Array.from({ length: count }, () => item).join(',')

/** Bodies by their shape. Those of 9,999 values are the largest that are parsed. */
const BODIES: Record<string, string> = {
  '2.7 million []': filled('{"a":[[]', ',[]', ']}'),
  '2.7 million {}': filled('{"a":[{}', ',{}', ']}'),
  '2.7 million ""': filled('{"a":[""', ',""', ']}'),
  '4 million numbers': filled('{"a":[1', ',1', ']}'),
  '700,000 keys': `{${keys}}`,
  '8 million [': '['.repeat(SIZE - 1),
  '8 million spaces': filled('{', ' ', '}'),
  'one text of 8 MiB': filled('{"name":"', 'x', '"}'),
  'one text of escapes': filled('{"name":"', '\\n', '"}'),
  'one text of surrogate pairs': filled('{"name":"', '\\ud83d\\ude00', '"}'),
  'a number of 8 million digits': filled('{"name":', '1', '}'),
  'a key of 8 MiB with NUL': filled('{"', 'x', '\\u0000":"\\u0000"}'),
  '9,999 empty arrays': `{"label_ids":[${items(9_997, '[]')}]}`,
  '9,999 texts with NUL': `{"a":[${items(9_997, `"\\u0000${'x'.repeat(70)}"`)}]}`,
  '9,999 ids': `{"label_ids":[${items(9_997, '"018f0000-0000-7000-8000-000000000000"')}]}`,
  '9,999 keys': `{${Array.from({ length: 9_998 }, (_, i) => `"${'k'.repeat(70)}${i}":"x"`).join(',')}}`,
}

const dir = path.join(tmpdir(), `deskwire-bench-${crypto.randomUUID()}`)
const service = await startService({ DATA_DIR: dir })
await service.call('GET', '/auth/me')
const authorization = `Bearer ${service.token()}`

const targets = [
  ['POST /auth/login, nobody', '/auth/login', {}],
  ['POST /tickets, a user', '/tickets', { authorization }],
] as const

console.log('body | route | answer | answered after, ms | longest wait for /healthz, ms | CPU, ms')
for (const [shape, body] of Object.entries(BODIES)) {
  for (const [name, target, headers] of targets) {
    const rounds: Awaited<ReturnType<typeof measure>>[] = []
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(target, headers, body))
    const { status } = rounds[0]!
    const figures = (['answer_ms', 'healthz_ms', 'cpu_ms'] as const).map((figure) =>
      Math.round(median(rounds.map((round) => round[figure]))),
    )
    console.log([shape, name, status, ...figures].join(' | '))
  }
}
await service.stop()

function median(figures: number[]): number {
  return figures.sort((a, b) => a - b)[Math.floor(figures.length / 2)]!
}

/** Sends one body while `/healthz` is asked again and again. */
async function measure(target: string, headers: Record<string, string>, body: string) {
  const bytes = Buffer.from(body)
  let is_running = true
  let healthz_ms = 0
  const watch = (async () => {
    while (is_running) {
      const asked = performance.now()
      await (await fetch(`${service.url}/healthz`)).text()
      healthz_ms = Math.max(healthz_ms, performance.now() - asked)
      await Bun.sleep(2)
    }
  })()
  await Bun.sleep(50)
  const cpu = () => cpuOf(treeOf(service.process.pid!).slice(0, 1), []).service_ms
  const used_ms = cpu()
  const sent = performance.now()
  const response = await fetch(`${service.url}/api/v1${target}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: bytes,
  })
  await response.text()
  const answer_ms = performance.now() - sent
  is_running = false
  await watch
  return { status: response.status, answer_ms, healthz_ms, cpu_ms: cpu() - used_ms }
}
