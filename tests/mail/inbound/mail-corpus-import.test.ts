/** The real mail of the corpus through the whole pipeline: every message gets the outcome that its source expects. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { connection } from '../../../src/base/db/pool'
import { storage } from '../../../src/desk/attachments/storage'
import { startApi, stopApi } from '../../support/api'
import { createDesk, type Desk } from '../../support/desk'
import { drain, importMail, ledgerOf, startListener } from '../../support/mail'
import { sampled } from '../../support/sampled'
import { sendInSession, startSession } from '../../support/smtp'

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
/** Another field, or the envelope, names the sender of mail in whose From nobody reads. */
const NOBODY = /^(?:gmail-)?no-?reply@/
/** Delivery goes on after a warning of delay: it is a report like a bounce, but nothing is marked as bounced. */
const WARNINGS = [
  'mikel-mail__multipart_report_emails_report_422.eml',
  'sisimai__bsd_lhost-gmail-09.eml',
  'sisimai__bsd_lhost-opensmtpd-04.eml',
]
const AT_ONCE = 8

const corpus = path.resolve(import.meta.dir, '../../../../shared/data/mail')
const hasCorpus = existsSync(path.join(corpus, 'expect.jsonl'))
if (!hasCorpus) console.log('The mail corpus is not here: its import is not tested.')

let first: Desk

beforeAll(async () => {
  await startApi(10)
  first = await createDesk()
})
afterAll(stopApi)

type Example = { file: string; expect: Expectation }

async function readExamples(): Promise<Example[]> {
  const lines = (await Bun.file(path.join(corpus, 'expect.jsonl')).text()).trim().split('\n')
  return sampled(lines, 8).map((line) => JSON.parse(line))
}

/** The expectations were made with every line end as on the wire. */
async function readRaw({ file }: Example): Promise<Buffer> {
  const text = Buffer.from(await Bun.file(path.join(corpus, file)).arrayBuffer()).toString('latin1')
  return Buffer.from(text.replace(/\r\n|\n/g, '\r\n'), 'latin1')
}

test.skipIf(!hasCorpus)(
  'every message of the corpus is taken over SMTP, kept byte for byte, and filed as its source expects',
  async () => {
    const desk = await createDesk()
    const listener = await startListener({ max_bytes: 30_000_000 })
    const dialog = await startSession(listener.port)
    const sent = new Map<string, { example: Example; raw: Buffer }>()
    for (const example of await readExamples()) {
      const raw = await readRaw(example)
      // Mail systems send reports with the null sender.
      const from = example.expect.is_bounce ? '' : 'relay@customer.example'
      const { response } = await sendInSession(dialog, { from, to: desk.address, raw })
      sent.set(/^250 .*queued as (\S+)/.exec(response)?.[1] ?? response, { example, raw })
    }
    dialog.destroy()
    await listener.close()
    await drain()
    const failures: string[] = []
    const rows = await wholeLedger(desk)
    for (const row of rows) {
      const { example, raw } = sent.get(row.id)!
      const problems = row.outcome === 'duplicate' ? [] : await compare({ desk, row }, example)
      if (!(await originalOf(row.id)).subarray(0, raw.length).equals(raw)) problems.push('other bytes')
      failures.push(...problems.map((problem) => `${example.file} ${problem}`))
    }
    expect(failures).toEqual([])
    expect(rows).toHaveLength(sent.size)
  },
)

async function wholeLedger(desk: Desk): Promise<Row[]> {
  const rows: Row[] = []
  for (let page = 1; ; page++) {
    const found = await ledgerOf(desk, `&page=${page}`)
    if (found.length === 0) return rows
    rows.push(...found)
  }
}

async function originalOf(id: string): Promise<Buffer> {
  const [row] = await connection().sql<{ storage_key: string }[]>`
    select storage_key from inbound_messages where id = ${id}`
  return Buffer.from(await new Response(await storage().open(row!.storage_key)).arrayBuffer())
}

test.skipIf(!hasCorpus)('every message of the corpus is filed as its source expects', async () => {
  const failures: string[] = []
  const work = await readExamples()
  const worker = async () => {
    for (let next = work.pop(); next; next = work.pop()) {
      const { file } = next
      const problems = await compare(await importOnce(await readRaw(next)), next)
      failures.push(...problems.map((problem) => `${file} ${problem}`))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  expect(failures).toEqual([])
})

type Row = Awaited<ReturnType<typeof importMail>>

async function compare(
  { desk, row }: { desk: Desk; row: Row },
  { file, expect: expected }: Example,
): Promise<string[]> {
  const is_warning = WARNINGS.includes(file)
  const problems: string[] = []
  const check = (field: string, actual: unknown, wanted: unknown) => {
    if (actual !== wanted) problems.push(`${field}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`)
  }
  const is_report = ['bounce', 'unmatched_bounce'].includes(row.outcome)
  if (!is_report) check('outcome', ['ticket', 'message'].includes(row.outcome), true)
  if (expected.is_bounce !== undefined && !is_warning) check('is_bounce', is_report, expected.is_bounce)
  if (expected.subject !== undefined) check('subject', squeeze(row.subject ?? ''), squeeze(expected.subject ?? ''))
  const { from_address } = expected
  if (from_address && !NO_ADDRESS.test(from_address) && !NOBODY.test(from_address)) {
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

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
