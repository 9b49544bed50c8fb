/**
 * Kills the service five times while providers post mail beside a load generator that speaks SMTP: each acknowledged
 * mail is filed once. INLET_KILL_MESSAGES: how many of each, 1,000 by default.
 */
import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  basic,
  cloudmailinPost,
  mailgunPost,
  type Post,
  postmarkPost,
  rawPost,
  sendgridKeys,
  sendgridPost,
} from '../support/inlets'
import { readLedger, SESSIONS, sendUntil, untilFiled, WHY_NO_GENERATOR } from '../support/mail-generator'
import { freePort } from '../support/ports'
import { type Service, startService, until } from '../support/service'
import { startCountingRelay } from '../support/smtp-relay'

const MESSAGES = Number(process.env.INLET_KILL_MESSAGES ?? 1000)
const KILLS = 5
/** Requests of providers at a time. */
const REQUESTS = 10
const KEY = 'the signing key'
const KEYS = sendgridKeys()
const ADDRESS = 'support@desk.example'
const FROM = 'bounces@mailer.example'

/** The request of each provider, and the key with which its inlet is opened. */
const PROVIDERS: Record<string, { key: string; post(raw: Buffer, to: string): Post }> = {
  raw: { key: 'u:p', post: (raw) => rawPost(raw) },
  postmark: { key: 'u:p', post: (raw, to) => postmarkPost(raw, to) },
  cloudmailin: { key: 'u:p', post: (raw, to) => cloudmailinPost(raw, { to, from: FROM, ip: '198.51.100.7' }) },
  mailgun: { key: KEY, post: (raw, to) => mailgunPost(raw, { to, from: FROM, key: KEY }) },
  sendgrid: {
    key: KEYS.public_key,
    post: (raw, to) => sendgridPost(raw, { to, from: FROM, ip: '198.51.100.7', private_key: KEYS.private_key }),
  },
}

if (WHY_NO_GENERATOR) console.warn(`The test with mail beside payloads is skipped: ${WHY_NO_GENERATOR}`)

test.skipIf(WHY_NO_GENERATOR !== undefined)(
  `${MESSAGES} payloads beside ${MESSAGES} mails, ${KILLS} times kill -9: every acknowledged one is filed once`,
  async () => {
    const DATA_DIR = path.join(tmpdir(), `inlet-kill-${crypto.randomUUID()}`)
    mkdirSync(DATA_DIR, { mode: 0o755 })
    const env = { DATA_DIR, LOG_LEVEL: 'fatal', PORT: String(await freePort()) }
    let service = await startService(env)
    using relay = await startCountingRelay(service.smtp_port)
    try {
      await service.call('POST', '/mailboxes', { address: ADDRESS })
      const provider = await startProviders(service)
      for (let kill = 1; kill <= KILLS; kill++) {
        const wanted = Math.floor((MESSAGES * kill) / (KILLS + 1))
        await Promise.all([sendUntil(relay, { to: ADDRESS, wanted, all: MESSAGES }), provider.until(wanted)])
        await Bun.sleep(Math.random() * 200)
        await service.kill()
        service = await startService(env)
        relay.target = service.smtp_port
      }
      await Promise.all([sendUntil(relay, { to: ADDRESS, wanted: MESSAGES, all: MESSAGES }), provider.until(MESSAGES)])
      await untilFiled(service)
      await check(service, relay.acknowledged, provider)
    } finally {
      await service.stop()
      rmSync(DATA_DIR, { recursive: true, force: true })
    }
  },
  900_000,
)

type Provider = { acknowledged: Map<string, string>; statuses: Set<number>; until(wanted: number): Promise<void> }

/** Opens an inlet of each kind, and posts. A payload that is not acknowledged is posted again, as providers do. */
async function startProviders(service: Service): Promise<Provider> {
  const inlets: { url: string; address: string; name: string }[] = []
  for (const [name, { key }] of Object.entries(PROVIDERS)) {
    const address = `${name}@desk.example`
    const mailbox = await service.call('POST', '/mailboxes', { address })
    const inlet = { provider: name, signing_key: key }
    const opened = await service.call('POST', `/mailboxes/${mailbox.body.data.id}/inlet`, inlet)
    inlets.push({ url: opened.body.data.url, address, name })
  }
  const [acknowledged, statuses] = [new Map<string, string>(), new Set<number>()]
  let next = 0
  const work = async () => {
    for (let n = next++; n < MESSAGES; n = next++) {
      const { url, address, name } = inlets[n % inlets.length]!
      const { key, post } = PROVIDERS[name]!
      const { body, headers } = post(mailOf(n, address), address)
      const request = {
        method: 'POST',
        body: body as string,
        headers: { ...headers, ...(key === 'u:p' && basic(key)) },
      }
      for (;;) {
        const answer = await fetch(url, request).catch(() => undefined)
        const id = answer?.status === 200 ? (await answer.json().catch(() => undefined))?.data.id : undefined
        if (answer) statuses.add(answer.status)
        if (id) {
          acknowledged.set(messageId(n), id)
          break
        }
        await Bun.sleep(50)
      }
    }
  }
  for (let worker = 0; worker < REQUESTS; worker++) void work()
  const isReached = (wanted: number) => () => acknowledged.size >= wanted
  return {
    ...{ acknowledged, statuses },
    until: (wanted) => until(`${wanted} payloads are acknowledged`, isReached(wanted), 240_000),
  }
}

const messageId = (n: number) => `${n}@customer.example`

function mailOf(n: number, to: string): Buffer {
  const fields = `From: Carl <carl@customer.example>\r\nTo: ${to}\r\nSubject: Question ${n}\r\nMessage-ID: <${messageId(n)}>`
  return Buffer.from(`${fields}\r\n\r\nThis is number ${n}. ${'x'.repeat(4000)}\r\n`)
}

async function check(service: Service, by_smtp: string[], { acknowledged, statuses }: Provider): Promise<void> {
  const rows = await readLedger(service)
  const by_id = new Map(rows.map((row) => [row.id, row]))
  expect(by_smtp.filter((id) => by_id.get(id)?.outcome !== 'ticket')).toEqual([])
  const wrong = [...acknowledged].filter(([message_id, id]) => by_id.get(id)?.email_message_id !== message_id)
  expect(wrong).toEqual([])
  // A payload whose answer was lost came again: one row of it is a ticket, the others are copies.
  const filed = rows.filter(({ outcome }) => outcome === 'ticket')
  expect(rows.filter(({ outcome }) => outcome !== 'ticket' && outcome !== 'duplicate')).toEqual([])
  expect(rows.length - filed.length).toBeLessThanOrEqual(KILLS * REQUESTS)
  const posted = filed.filter(({ mailbox }) => mailbox.address !== ADDRESS).map((row) => row.email_message_id)
  expect(posted.toSorted()).toEqual([...acknowledged.keys()].toSorted())
  expect(filed.length - posted.length - by_smtp.length).toBeLessThanOrEqual(KILLS * SESSIONS)
  expect(new Set(filed.map(({ ticket_id }) => ticket_id)).size).toBe(filed.length)
  expect((await service.call('GET', '/tickets?per_page=1')).body.meta.total).toBe(filed.length)
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
}
