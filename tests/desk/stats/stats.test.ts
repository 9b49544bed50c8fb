/** `GET /stats`: figures of an organization that outlive the process and are the same in every one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connection } from '../../../src/base/db/pool'
import { count, removeOldStats, writeStats } from '../../../src/base/metrics/organization-figures'
import { createOrganization, type Organization } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage, createTicket } from '../../support/factories'
import { deliver, drain, rawMail } from '../../support/mail'
import { until } from '../../support/service'
import { createWebhook, deliverDue, startTrustedReceiver } from '../../support/webhooks'

let desk: StartedDesk
beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

async function statsOf({ admin }: Organization, period = 'hour') {
  await writeStats(connection())
  const answer = await admin.get(`/stats?period=${period}`)
  expect(answer.status).toBe(200)
  return answer.body.data
}

const sum = (series: (number | null)[]) => series.reduce<number>((one, other) => one + (other ?? 0), 0)

describe('figures', () => {
  test('count mail in by outcome, mail out by fate, and requests by answer, in every period', async () => {
    const other = await desk.createDesk()
    const raw = rawMail({
      From: 'carla@customer.example',
      To: other.address,
      Subject: 'Fire',
      'Message-ID': '<1@x.example>',
    })
    await deliver(desk.port, { to: other.address, raw })
    await deliver(desk.port, { to: other.address, raw })
    const [ticket] = (await other.admin.get('/tickets')).body.data
    await createMessage(other.admin, ticket.id, { body: 'Water' })
    await drain()
    await other.admin.get('/tickets/none')
    // A request is counted once its answer has left.
    await until('the refused request is counted', async () => sum((await statsOf(other)).requests.refused) === 1)
    for (const [period, steps, seconds] of [
      ['hour', 60, 60],
      ['day', 96, 900],
      ['month', 120, 21_600],
    ] as const) {
      const stats = await statsOf(other, period)
      expect(stats).toMatchObject({ period, step_seconds: seconds })
      expect(Date.parse(stats.to) - Date.parse(stats.from)).toBe(steps * seconds * 1000)
      expect(stats.mail_in.tickets).toHaveLength(steps)
      expect([stats.mail_in.tickets, stats.mail_in.others, stats.mail_out.sent].map(sum)).toEqual([1, 1, 1])
      expect(sum(stats.requests.refused)).toBe(1)
      expect(sum(stats.requests.ok)).toBeGreaterThan(2)
    }
  })

  test('count attempts of webhooks with their time', async () => {
    using receiver = await startTrustedReceiver(500)
    const organization = await createOrganization()
    await createWebhook(organization.admin, { url: receiver.url })
    await createTicket(organization.admin)
    await deliverDue()
    const { webhooks } = await statsOf(organization)
    expect([sum(webhooks.ok), sum(webhooks.failed)]).toEqual([0, 1])
    expect(webhooks.response_time_ms.filter((time: number | null) => time !== null)).toHaveLength(1)
  })

  test('of several processes are added up, and lost by none that the database refuses', async () => {
    const organization = await createOrganization()
    const id = organization.id
    count(id, 'requests_failed', 2)
    const { sql } = connection()
    const broken = { ...connection(), sql: (() => Promise.reject(new Error('away'))) as never as typeof sql }
    Object.assign(broken.sql, { unsafe: sql.unsafe })
    expect(writeStats(broken)).rejects.toThrow('away')
    count(id, 'requests_failed')
    expect(sum((await statsOf(organization)).requests.failed)).toBe(3)
    count(id, 'requests_failed')
    expect(sum((await statsOf(organization)).requests.failed)).toBe(4)
  })

  test('that no period shows any more are removed', async () => {
    const organization = await createOrganization()
    const { sql } = connection()
    count(organization.id, 'mail_tickets')
    await writeStats(connection())
    await sql`update stats set at = now() - interval '3 hours' where organization_id = ${organization.id} and size_s = 60`
    await removeOldStats(connection())
    const left = await sql`select size_s from stats where organization_id = ${organization.id} order by size_s`
    expect([...new Set(left.map(({ size_s }) => size_s))]).toEqual([900, 21_600])
  })

  test('are those of the organization alone, and for admins', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()]
    count(one.id, 'mail_bounces', 5)
    expect(sum((await statsOf(other)).mail_in.bounces)).toBe(0)
    expect((await one.agent.get('/stats')).status).toBe(403)
  })
})

describe('what waits and what needs attention', () => {
  test('names a failed webhook, what it holds, and a missing mailbox', async () => {
    const organization = await createOrganization()
    const { id } = await createWebhook(organization.admin, { url: 'https://receiver.example/hook?key=secret' })
    const { sql } = connection()
    await sql`update webhooks set status = 'failed' where organization_id = ${organization.id} and id = ${id}`
    await createTicket(organization.admin)
    const { waiting, findings } = await statsOf(organization)
    expect(waiting.held).toEqual({ count: 1, oldest_at: null })
    expect(findings.map(({ level, message }: { level: string; message: string }) => [level, message])).toEqual([
      ['error', 'The webhook to receiver.example has failed. 1 deliveries wait.'],
      ['warning', 'There is no active mailbox: no email comes in or goes out.'],
    ])
  })

  test('says since when mail that is due has been waiting', async () => {
    const other = await desk.createDesk()
    const ticket = await createTicket(other.admin)
    await createMessage(other.admin, ticket.id, { body: 'Later' })
    const { sql } = connection()
    await sql`
      update outbox set run_at = now() - interval '10 minutes', attempts = 1 where organization_id = ${other.id}`
    const { waiting, findings } = await statsOf(other)
    expect(waiting.email.count).toBe(1)
    expect(Date.now() - Date.parse(waiting.email.oldest_at)).toBeGreaterThan(500_000)
    expect(findings[0]).toMatchObject({ level: 'error' })
    expect(findings[0].message).toContain('Outbound email has been waiting since')
    expect(findings[1].message).toBe('1 email was not taken by the server, and will be tried again.')
    await drain()
  })
})
