/** Measures what listing a write in the audit log costs: labels made by an API key beside those made by a token. */
import { type Cpu, cpuOfEach } from './processes'
import { cpuText, rounded, verdict } from './report'
import type { Rig } from './rig'

const CONNECTIONS = 16
/** Each turn: long enough for processor time in hundredths of a second, short enough that slow moments meet both. */
const SECONDS = 1
/** Both grow the table, so neither always comes after the other. */
const ORDER = ['token', 'key', 'key', 'token'] as const
const ROUNDS = 2 * Number(process.env.BENCH_ROUNDS ?? 3)

type Sums = { count: number; service_ms: number; database_ms: number }

export async function measureKey(rig: Rig, organization_id: string): Promise<void> {
  const token = await rig.headers(organization_id)
  const made = await fetch(`${rig.service.url}/api/v1/api-keys`, {
    method: 'POST',
    headers: token,
    body: JSON.stringify({ name: 'Benchmark', permissions: ['labels:write'] }),
  })
  const { data } = (await made.json()) as { data: { key: string } }
  const headers = { token, key: { ...token, authorization: `ApiKey ${data.key}` } }
  const sums = { token: noSums(), key: noSums() }
  for (const by of ORDER) await createLabels(rig, headers[by], noSums())
  for (let round = 0; round < ROUNDS; round++) {
    for (const by of ORDER) await createLabels(rig, headers[by], sums[by])
  }
  const [by_token, by_key] = [ofEach(sums.token), ofEach(sums.key)]
  const times = (by_key.service_ms + by_key.database_ms) / (by_token.service_ms + by_token.database_ms)
  const reached = verdict('POST /labels by a key, beside by a token', times, { at_most: 1.1 })
  console.log(
    `POST /labels: CPU ms ${cpuText(by_token)} by a token, ${cpuText(by_key)} by a key: ` +
      `${rounded(times)} times, aim <= 1.1, ${reached}`,
  )
}

/** Adds what labels cost that are made in a turn, each of another name. */
async function createLabels(rig: Rig, headers: Record<string, string>, sums: Sums): Promise<void> {
  const end_ms = performance.now() + SECONDS * 1000
  const before = rig.cpu('service')
  const create = async () => {
    while (performance.now() < end_ms) {
      const body = JSON.stringify({ name: crypto.randomUUID(), color: '#336699' })
      const { status } = await fetch(`${rig.service.url}/api/v1/labels`, { method: 'POST', headers, body })
      if (status !== 201) throw new Error(`${status} for a label`)
      sums.count++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, create))
  const { service_ms, database_ms } = cpuOfEach(before, rig.cpu('service'), 1)
  sums.service_ms += service_ms
  sums.database_ms += database_ms
}

function noSums(): Sums {
  return { count: 0, service_ms: 0, database_ms: 0 }
}

function ofEach({ count, service_ms, database_ms }: Sums): Cpu {
  return { service_ms: service_ms / count, database_ms: database_ms / count }
}
