/** Rules of two processes that are killed again and again: each rule is applied to each ticket once, and in order. */
import { expect, test } from 'bun:test'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createDatabase } from '../support/database'
import { runOnDatabase } from '../support/on-server'
import { type Service, startService, until } from '../support/service'

const KILLS = Number(process.env.KILL_TIMES ?? 8)
const TICKETS_AT_ONCE = 6

/** One process of the service, which may be killed and started again. */
type Process = { env: Record<string, string>; service: Service }

async function start(env: Record<string, string>): Promise<Process> {
  return { env, service: await startService(env) }
}

async function makeRule({ call }: Service, name: string, on: string, macro: object): Promise<void> {
  const { body } = await call('POST', '/macros', { name, ...macro })
  expect((await call('POST', '/rules', { name, on, macro_id: body.data.id })).status).toBe(201)
}

/** Creates tickets as fast as they are answered. @returns what ends it and gives the ids that were answered */
function writeTickets(processes: Process[], contact_id: string): () => Promise<string[]> {
  const ids: string[] = []
  let is_over = false
  const write = async (n: number) => {
    while (!is_over) {
      const { call } = processes[n % processes.length]!.service
      // A process that was killed meanwhile gives no answer.
      const answer = await call('POST', '/tickets', { subject: `By ${n}`, contact_id }).catch(() => undefined)
      if (answer?.status === 201) ids.push(answer.body.data.id)
      else await Bun.sleep(50)
    }
  }
  const loops = Array.from({ length: TICKETS_AT_ONCE }, (_, n) => write(n))
  return async () => {
    is_over = true
    await Promise.all(loops)
    return ids
  }
}

test(`two processes, ${KILLS} kills: each rule is applied to each ticket once, in order, and starts no other`, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rules-kill-'))
  fs.chmodSync(folder, 0o711)
  const database = await createDatabase()
  const common = { DATABASE_URL: database.url, SECRET_KEY: 'a secret key that only tests use', LOG_LEVEL: 'fatal' }
  const processes = [await start({ ...common, DATA_DIR: path.join(folder, 'one') })]
  try {
    processes.push(await start({ ...common, DATA_DIR: path.join(folder, 'two') }))
    const { call } = processes[0]!.service
    const label = (await call('POST', '/labels', { name: 'Seen', color: '#000000' })).body.data
    await makeRule(processes[0]!.service, 'A', 'ticket.created', { body: 'First', is_internal: true })
    await makeRule(processes[0]!.service, 'B', 'ticket.created', {
      ...{ body: 'Second', is_internal: true },
      changes: { add_label_ids: [label.id], priority: 'urgent' },
    })
    for (const on of ['ticket.updated', 'message.created']) {
      await makeRule(processes[0]!.service, `C ${on}`, on, { body: 'Never', is_internal: true })
    }
    const person = { name: 'Carla', email: 'carla@customer.example' }
    const contact = (await call('POST', '/contacts', person)).body.data
    const stopWriting = writeTickets(processes, contact.id)
    for (let n = 0; n < KILLS; n++) {
      await Bun.sleep(Math.random() * 1500)
      const killed = processes[n % 2]!
      await killed.service.kill()
      killed.service = await startService(killed.env)
    }
    const answered = await stopWriting()
    await runOnDatabase(database.url, async (sql) => {
      await until('no rule waits', async () => (await sql`select from rule_runs`).length === 0)
      const found = await sql<{ id: string; notes: string[]; changes: number }[]>`
        select t.id, array(select m.body from messages m where m.ticket_id = t.id order by m.id) as notes, (
          select count(*)::int from activities a where a.ticket_id = t.id and a.rule is not null and a.type = 'changed'
        ) as changes
        from tickets t order by t.id`
      const ids = new Set(found.map(({ id }) => id))
      console.log({ answered: answered.length, tickets: ids.size })
      expect(answered).not.toBeEmpty()
      expect(answered.filter((id) => !ids.has(id))).toEqual([])
      const wrong = found.filter(({ notes, changes }) => notes.join() !== 'First,Second' || changes !== 1)
      expect(wrong).toEqual([])
      expect(await sql`select from outbox where kind = 'rule'`).toHaveLength(0)
    })
  } finally {
    await Promise.all(processes.map(({ service }) => service.kill()))
    await database.drop()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}, 600_000)
