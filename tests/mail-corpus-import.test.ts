/** The real mail of the corpus through the whole pipeline: every message ends with an outcome, and as its source expects. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { createOrganization, type Organization, startApi, stopApi } from './support/api'
import { createMailbox, importMail } from './support/mail'

type Expectation = {
  subject?: string | null
  from_address?: string | null
  body_text_contains?: string[]
  attachments?: { filename: string | null; size?: number | null }[] | null
  is_auto_reply?: boolean
  is_bounce?: boolean
}

/** Words without a domain in the place of the sender are no addresses: nobody could be answered there. */
const NO_ADDRESS = /^[^@]*$/
/** Delivery goes on after a warning of delay: it is a report like a bounce, but nothing is marked as bounced. */
const WARNINGS = [
  'mikel-mail__multipart_report_emails_report_422.eml',
  'sisimai__bsd_lhost-gmail-09.eml',
  'sisimai__bsd_lhost-opensmtpd-04.eml',
]
const AT_ONCE = 8

const corpus = path.resolve(import.meta.dir, '../../shared/data/mail')
const hasCorpus = existsSync(path.join(corpus, 'expect.jsonl'))
if (!hasCorpus) console.log('The mail corpus is not here: its import is not tested.')

type Desk = Organization & { mailbox_id: string }

let first: Desk

beforeAll(async () => {
  await startApi(10)
  first = await createDesk()
})
afterAll(stopApi)

async function createDesk(): Promise<Desk> {
  const organization = await createOrganization()
  return { ...organization, mailbox_id: (await createMailbox(organization.admin)).id }
}

test.skipIf(!hasCorpus)(
  'every message of the corpus is filed as its source expects',
  async () => {
    const lines = (await Bun.file(path.join(corpus, 'expect.jsonl')).text()).trim().split('\n')
    const failures: string[] = []
    const work = lines.map((line) => JSON.parse(line) as { file: string; expect: Expectation })
    const worker = async () => {
      for (let next = work.pop(); next; next = work.pop()) {
        const { file, expect: expected } = next
        const raw = new Uint8Array(await Bun.file(path.join(corpus, file)).arrayBuffer())
        const problems = await compare(raw, expected, WARNINGS.includes(file))
        failures.push(...problems.map((problem) => `${file} ${problem}`))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    expect(failures).toEqual([])
  },
  120_000,
)

async function compare(raw: Uint8Array, expected: Expectation, is_warning: boolean): Promise<string[]> {
  const { desk, row } = await importOnce(crlf(raw))
  const problems: string[] = []
  const check = (field: string, actual: unknown, wanted: unknown) => {
    if (actual !== wanted) problems.push(`${field}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
  }
  const is_report = ['bounce', 'unmatched_bounce'].includes(row.outcome)
  if (!is_report) check('outcome', ['ticket', 'message'].includes(row.outcome), true)
  if (expected.is_bounce !== undefined && !is_warning) check('is_bounce', is_report, expected.is_bounce)
  if (expected.subject !== undefined) check('subject', squeeze(row.subject ?? ''), squeeze(expected.subject ?? ''))
  const { from_address } = expected
  if (from_address && !NO_ADDRESS.test(from_address)) {
    check('from', row.from.email?.toLowerCase(), from_address.toLowerCase())
  }
  if (!row.message_id) return problems
  const { data: message } = (await desk.agent.get(`/tickets/${row.ticket_id}/messages/${row.message_id}`)).body
  const text = squeeze(message.body)
  for (const wanted of expected.body_text_contains ?? []) check('body', text.includes(squeeze(wanted)), true)
  if (expected.is_auto_reply !== undefined) check('auto_reply', message.auto_reply, expected.is_auto_reply)
  const { attachments } = expected
  if (!attachments) return problems
  check('attachments', message.attachments.length, attachments.length)
  for (const [index, { filename, size }] of attachments.entries()) {
    const actual = message.attachments[index]
    if (filename) check('filename', squeeze(actual?.filename ?? ''), squeeze(path.posix.basename(filename)))
    if (size) check('size', actual?.size, size)
  }
  return problems
}

/** The corpus has messages with the same Message-ID: a later one needs an organization that does not know it. */
async function importOnce(raw: Uint8Array) {
  const row = await importMail(first.admin, first.mailbox_id, raw)
  if (row.outcome !== 'duplicate') return { desk: first, row }
  const desk = await createDesk()
  return { desk, row: await importMail(desk.admin, desk.mailbox_id, raw) }
}

/** The expectations were made with every line end as on the wire. */
function crlf(raw: Uint8Array): Buffer {
  return Buffer.from(
    Buffer.from(raw)
      .toString('latin1')
      .replace(/\r\n|\n/g, '\r\n'),
    'latin1',
  )
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
