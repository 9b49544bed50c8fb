/** Kills the service five times under 10,000 messages of a load generator: each acknowledged message is filed once. */
import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readLedger, SESSIONS, sendUntil, untilFiled, WHY_NO_GENERATOR } from '../support/mail-generator'
import { type Service, startService } from '../support/service'
import { type CountingRelay, startCountingRelay } from '../support/smtp-relay'

const MESSAGES = Number(process.env.MAIL_KILL_MESSAGES ?? 10_000)
const KILLS = 5
const ADDRESS = 'support@desk.example'

if (WHY_NO_GENERATOR) console.warn(`The test with 10,000 messages is skipped: ${WHY_NO_GENERATOR}`)

test.skipIf(WHY_NO_GENERATOR !== undefined)(
  `${MESSAGES} messages, ${KILLS} times kill -9: every acknowledged one is in the ledger and filed once`,
  async () => {
    const DATA_DIR = path.join(tmpdir(), `mail-kill-${crypto.randomUUID()}`)
    mkdirSync(DATA_DIR, { mode: 0o755 })
    const table: Record<string, number>[] = []
    const env = { DATA_DIR, LOG_LEVEL: 'fatal' }
    let service = await startService(env)
    using relay = await startCountingRelay(service.smtp_port)
    try {
      await service.call('POST', '/mailboxes', { address: ADDRESS })
      const started_ms = performance.now()
      for (let kill = 1; kill <= KILLS; kill++) {
        const wanted = Math.floor((MESSAGES * kill) / (KILLS + 1))
        await sendUntil(relay, { to: ADDRESS, wanted, all: MESSAGES })
        await Bun.sleep(Math.random() * 200)
        await service.kill()
        service = await startService(env)
        relay.target = service.smtp_port
        table.push(await look(service, relay, started_ms))
      }
      await sendUntil(relay, { to: ADDRESS, wanted: MESSAGES, all: MESSAGES })
      await untilFiled(service)
      table.push(await look(service, relay, started_ms))
      console.table(table)
      await check(service, relay.acknowledged)
    } finally {
      await service.stop()
      rmSync(DATA_DIR, { recursive: true, force: true })
    }
  },
  480_000,
)

async function countPending(service: Service): Promise<number> {
  return (await service.call('GET', '/inbound-messages?outcome=pending&per_page=1')).body.meta.total
}

async function look(service: Service, { acknowledged }: CountingRelay, started_ms: number) {
  const seconds = Math.round((performance.now() - started_ms) / 100) / 10
  const { body } = await service.call('GET', '/inbound-messages?per_page=1')
  return { seconds, acknowledged: acknowledged.length, ledger: body.meta.total, pending: await countPending(service) }
}

async function check(service: Service, acknowledged: string[]) {
  const rows = await readLedger(service)
  const ids = new Set(rows.map(({ id }) => id))
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  expect(acknowledged.length).toBeGreaterThanOrEqual(MESSAGES)
  expect(acknowledged.filter((id) => !ids.has(id))).toEqual([])
  // Messages under way at a kill may be there too: committed, but without an answer.
  expect(rows.length - acknowledged.length).toBeLessThanOrEqual(KILLS * SESSIONS)
  expect(rows.filter(({ outcome }) => outcome !== 'ticket')).toEqual([])
  for (const key of ['id', 'email_message_id', 'ticket_id'] as const) {
    expect(new Set(rows.map((row) => row[key])).size).toBe(rows.length)
  }
  expect((await service.call('GET', '/tickets?per_page=1')).body.meta.total).toBe(rows.length)
}
