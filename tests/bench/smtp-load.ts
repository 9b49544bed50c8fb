/**
 * Sends mail on several sessions at once: with Postfix's `smtp-source` where it is installed, else with the tests'
 * client. Each message has an id that no other has.
 */
import { sendInSession, sendMail, startSession } from '../support/smtp'
import { startRandom } from './volume/random'
import { zipfText } from './volume/zipf-text'

export type SmtpLoad = {
  port: number
  recipient: string
  messages: number
  bytes: number
  sessions: number
  /** One for all messages of a session, or a new one for each. */
  connections: 'kept' | 'new'
  /** The words of the tests' client: the same in each run. Lines of one letter from `smtp-source` when left out. */
  content?: 'words' | 'HTML'
}

/** `generator_ms` is processor time for each message. */
export type SmtpSent = { seconds: number; generator_ms: number }

const SENDER = 'jack@customer.example'
const SUBJECT = 'The order has not come'
/** Bytes for each word, with the space behind it. */
const WORD_BYTES = 5

/** As Outlook writes it: each element has its styles. */
function paragraph([first = '', second = '', link = '', cell = '']: string[]): string {
  return (
    '<p class=MsoNormal style="margin:0cm;font-size:11.0pt;font-family:Calibri,sans-serif"><span style="color:#1F497D">' +
    `${first}\r\n${second}</span><o:p></o:p></p>\r\n<table border=0 style="border-collapse:collapse"><tr>` +
    `<td style="padding:5px 10px;border:1px solid #cccccc" valign=top><a href="https://example.org/orders">${link}</a></td>` +
    `<td style="padding:5px 10px">${cell}</td></tr></table>\r\n`
  )
}

/** Writes the body of what the tests' client sends: the same words in each run. */
export function writeBody({ bytes, content }: Pick<SmtpLoad, 'bytes' | 'content'>): string {
  const words = zipfText(startRandom(), bytes / WORD_BYTES)
  const lines = words.match(/.{1,72}(?: |$)/g)!
  if (content !== 'HTML') return lines.join('\r\n').slice(0, bytes)
  let html = ''
  while (html.length < bytes) html += paragraph(lines.splice(0, 4))
  return html
}

const SMTP_SOURCE = Bun.which('smtp-source', { PATH: `${process.env.PATH}:/usr/sbin:/usr/lib/postfix/sbin` })

/** Names what sends. */
export const SMTP_GENERATOR = SMTP_SOURCE ? 'smtp-source' : 'own client'

/** Resolves when every message got its 250. @throws Error when one was refused */
export async function sendSmtpLoad(load: SmtpLoad): Promise<SmtpSent> {
  const started_ms = performance.now()
  const cpu_ms = SMTP_SOURCE && !load.content ? await sendWithPostfix(SMTP_SOURCE, load) : await sendHere(load)
  return { seconds: (performance.now() - started_ms) / 1000, generator_ms: cpu_ms / load.messages }
}

async function sendWithPostfix(program: string, load: SmtpLoad): Promise<number> {
  const amounts = ['-s', load.sessions, '-m', load.messages, '-l', load.bytes].map(String)
  const addresses = ['-f', SENDER, '-t', load.recipient, '-S', SUBJECT, `127.0.0.1:${load.port}`]
  const run = Bun.spawn([program, ...(load.connections === 'kept' ? ['-d'] : []), ...amounts, ...addresses], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const complaints = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`smtp-source failed: ${complaints}`)
  return Number(run.resourceUsage()!.cpuTime.total) / 1000
}

async function sendHere(load: SmtpLoad): Promise<number> {
  const text = writeBody(load)
  const type = load.content === 'HTML' ? 'Content-Type: text/html; charset=utf-8\r\n' : ''
  const before = process.cpuUsage()
  let left = load.messages
  const next = () => ({
    from: SENDER,
    to: load.recipient,
    raw: `From: ${SENDER}\r\nSubject: ${SUBJECT}\r\nMessage-ID: <${crypto.randomUUID()}@customer.example>\r\n${type}\r\n${text}`,
  })
  const loop = async () => {
    using session = load.connections === 'kept' ? await startSession(load.port) : undefined
    while (left-- > 0) {
      const result = session ? await sendInSession(session, next()) : await sendMail({ ...next(), port: load.port })
      if (result.code !== 250) throw new Error(`a message was refused: ${JSON.stringify(result)}`)
    }
  }
  await Promise.all(Array.from({ length: load.sessions }, loop))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
