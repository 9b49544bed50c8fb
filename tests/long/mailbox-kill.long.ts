/** A mail server that fails at every stage, and a service that is killed meanwhile: every email arrives. */
import { expect, test } from 'bun:test'
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type RawAnswer, startRawSmtp } from '../support/raw-smtp'
import { type Service, startService, until } from '../support/service'

const MESSAGES = Number(process.env.KILL_MESSAGES ?? 200)
/** So many attempts that no message is given up. */
const SCHEDULE = ['0', ...Array(60).fill('0.2')].join()

/** The answer of the server to commands of a stage: a reply, null for hanging up, '' for silence. */
const FAULTS: [stage: RegExp, reply: string | null][] = [
  ...[/^EHLO/, /^MAIL/, /^RCPT/, /^DATA$/, /^\.\.?$/].flatMap((stage): [RegExp, string | null][] => [
    [stage, null],
    [stage, ''],
    [stage, '421 4.3.2 Going down'],
    [stage, '451 4.3.0 Later'],
    [stage, '454 4.7.0 Not now'],
  ]),
  [/^AUTH/, '535 5.7.8 No'],
  [/^MAIL/, '535 5.7.8 Sign in'],
  [/^MAIL/, '452 4.3.1 Disk full'],
]

test(`${FAULTS.length} faults of a mail server, a kill -9 in each: every email arrives once, or again when its answer was lost`, async () => {
  const DATA_DIR = path.join(tmpdir(), `mailbox-kill-${crypto.randomUUID()}`)
  mkdirSync(DATA_DIR, { mode: 0o755 })
  const env = { DATA_DIR, RETRY_SCHEDULE_SECONDS: SCHEDULE, EMAIL_INLINE_WAIT_MS: '1', LOG_LEVEL: 'fatal' }
  let fault = FAULTS[0]!
  let is_well = false
  /** Message-IDs in the order in which the server took them. */
  const taken: string[] = []
  const broken = new Set<string>()
  const answer: RawAnswer = (line) => {
    const [stage, reply] = fault
    const is_faulty = !is_well && stage.test(line) && Math.random() < 0.9
    if (line === '.') {
      const id = /^Message-ID:\s*<([^>]+)>/im.exec(server.messages.at(-1)!)![1]!
      if (is_faulty) broken.add(id)
      else taken.push(id)
    }
    return is_faulty ? reply : undefined
  }
  using server = await startRawSmtp({ extensions: ['AUTH PLAIN LOGIN'] })
  server.answer((line, connection) => {
    const decided = answer(line, connection)
    return decided === undefined && /^AUTH/.test(line) ? '235 2.7.0 In' : decided
  })
  let service: Service = await startService({ ...env, MAIL_ALLOWED_NETWORKS: '127.0.0.0/8' })
  try {
    const smtp = { host: '127.0.0.1', port: server.port, security: 'none', username: 'desk', password: 'secret' }
    await service.call('POST', '/mailboxes', { address: 'support@desk.example', smtp })
    const contact = await service.call('POST', '/contacts', { name: 'Carla', email: 'carla@customer.example' })
    const ticket = await service.call('POST', '/tickets', { subject: 'Many', contact_id: contact.body.data.id })
    const messages = `/tickets/${ticket.body.data.id}/messages`
    const ids: string[] = []
    const write = async (n: number) => {
      for (let i = 0; i < n; i++) {
        const { status, body } = await service.call('POST', messages, { body: `Number ${ids.length}` })
        expect(status).toBe(201)
        ids.push(body.data.email_message_id)
      }
    }
    await write(Math.ceil(MESSAGES / 2))
    const started_ms = performance.now()
    for (const one of FAULTS) {
      fault = one
      const seen = server.lines.length
      await write(Math.floor(MESSAGES / 2 / FAULTS.length))
      // A server that is silent at once is asked little.
      await until('the server was asked', () => server.lines.length > seen + 3, 1500).catch(() => {})
      await Bun.sleep(Math.random() * 400)
      await service.kill()
      service = await startService({ ...env, MAIL_ALLOWED_NETWORKS: '127.0.0.0/8' })
    }
    const during = taken.length
    is_well = true
    await until('all is sent', async () => {
      const list = (await service.call('GET', messages)).body.data as { email_status: string }[]
      return list.every(({ email_status }) => email_status === 'sent')
    })
    const count = (id: string) => taken.filter((one) => one === id).length
    const again = ids.filter((id) => count(id) > 1)
    console.log({
      messages: ids.length,
      seconds: Math.round((performance.now() - started_ms) / 1000),
      taken_while_failing: during,
      lost: ids.filter((id) => count(id) === 0).length,
      once: ids.filter((id) => count(id) === 1).length,
      again: again.length,
      refused_at_the_end: broken.size,
      connections: server.connections(),
    })
    expect(ids.filter((id) => count(id) === 0)).toEqual([])
    // A kill can hit only what is on its way: at most four connections of the mailbox.
    expect(again.length).toBeLessThanOrEqual(4 * FAULTS.length)
    const [mailbox] = (await service.call('GET', '/mailboxes')).body.data
    expect(mailbox.sending).toEqual({ ok: true, error: null, failing_since: null, queued: 0 })
  } finally {
    await service.stop()
    rmSync(DATA_DIR, { recursive: true, force: true })
  }
}, 600_000)
