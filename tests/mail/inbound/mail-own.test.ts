/** Messages that were written to find faults, through the whole pipeline: each comes out as its manifest says. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { deliver, drain, ledgerOf, readTicket } from '../../support/mail'

type Expectation = {
  outcome?: string
  auto_reply?: boolean
  subject?: string
  ticket_subject_regex?: string
  from_address?: string
  from_address_not?: string
  from_name?: string
  text_contains?: string[]
  html_contains?: string[]
  html_excludes?: string[]
  reply_exact?: string
  reply_contains?: string[]
  no_control?: boolean
  attachment_count?: number
}

type Example = {
  file: string | null
  mail_from: string
  to: string[]
  template?: boolean
  expect: Expectation
  want: Expectation
}

const folder = path.resolve(import.meta.dir, '../../../../shared/data/mail-own')
const manifest = path.join(folder, 'manifest.jsonl')
const hasExamples = existsSync(manifest)
if (!hasExamples) console.log('The messages that were written to find faults are not here: their tests are skipped.')

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ address: 'support@desk.example' })
})
afterAll(() => desk.stop())

async function readExamples(): Promise<Example[]> {
  return (await Bun.file(manifest).text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function receive({ file, mail_from, to }: { file: string; mail_from: string; to: string[] }) {
  await deliver(desk.port, { from: mail_from, to, raw: await Bun.file(path.join(folder, file)).bytes() })
  return (await ledgerOf(desk))[0]
}

/** The difference from the expectation. */
async function differences(row: Record<string, unknown>, expected: Expectation): Promise<string[]> {
  const ticket = await readTicket(desk.agent, String(row.ticket_id))
  const [message] = ticket.messages
  const texts = { text: message.body, html: message.body_html, reply: message.reply_text ?? '' }
  const has = (form: keyof typeof texts, words: string[] = []) =>
    words.filter((word) => !squeeze(texts[form]).includes(squeeze(word))).map((word) => `${form} without ${word}`)
  const is = (name: string, actual: unknown, wanted: unknown) =>
    wanted === undefined || Bun.deepEquals(actual, wanted) ? [] : [`${name} is ${JSON.stringify(actual)}`]
  return [
    ...is('outcome', row.outcome, expected.outcome),
    ...is('auto_reply', message.auto_reply, expected.auto_reply),
    ...is('subject', ticket.subject, expected.subject),
    ...is('from_address', ticket.contact.email, expected.from_address),
    ...is('from_name', ticket.contact.name, expected.from_name),
    ...is('reply_text', squeeze(texts.reply), expected.reply_exact && squeeze(expected.reply_exact)),
    ...is('attachment_count', message.attachments.length, expected.attachment_count),
    ...is('another sender', ticket.contact.email === expected.from_address_not, false),
    ...is('matching subject', new RegExp(expected.ticket_subject_regex ?? '').test(ticket.subject), true),
    ...is('control characters', expected.no_control === true && /(?![\n\t])\p{Cc}/u.test(message.body), false),
    ...has('text', expected.text_contains),
    ...has('html', expected.html_contains),
    ...has('reply', expected.reply_contains),
    ...(expected.html_excludes ?? []).filter((word) => texts.html.includes(word)).map((word) => `html with ${word}`),
  ]
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

test.skipIf(!hasExamples)('every message comes out as its manifest says', async () => {
  const failures: string[] = []
  const examples = (await readExamples()).filter((one) => one.file !== null && !one.template)
  for (const { file, mail_from, to, expect: must, want } of examples) {
    const row = await receive({ file: file!, mail_from, to })
    for (const problem of await differences(row, { ...must, ...want })) failures.push(`${file}: ${problem}`)
  }
  expect(failures).toEqual([])
  expect(examples.length).toBeGreaterThan(20)
})

test.skipIf(!hasExamples)('a bounce of an old mail system is about the answer that it quotes', async () => {
  const template = await Bun.file(path.join(folder, 't21.eml')).text()
  const { from: contact } = { from: 'kim@kunde.example' }
  const first = `From: ${contact}\r\nTo: support@desk.example\r\nSubject: Pump leaks\r\nMessage-ID: <t21@kunde.example>\r\n\r\nDrip.`
  await deliver(desk.port, { to: desk.address, raw: Buffer.from(first) })
  const { ticket_id } = (await ledgerOf(desk))[0]
  const { id, email_message_id } = await createMessage(desk.agent, ticket_id)
  await drain()
  const { code } = await readTicket(desk.agent, ticket_id)
  const values: Record<string, string> = { k: '1', addr: contact, our_id: `<${email_message_id}>`, code }
  const raw = template.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]!).replace(/\r?\n/g, '\r\n')
  for (const from of ['', 'MAILER-DAEMON@old.example']) {
    await deliver(desk.port, { from, to: desk.address, raw: Buffer.from(raw.replace('t21.1', `t21.${from.length}`)) })
    expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'bounce', ticket_id, message_id: id })
  }
})
