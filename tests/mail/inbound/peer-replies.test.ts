/** Replies of other programs to an answer that left: each comes to its ticket, and says what its writer wrote. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ParsedMail, simpleParser } from 'mailparser'
import { newId } from '../../../src/base/db/columns'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ address: 'help@desk.example' })
})
afterAll(() => desk.stop())

/** The answer as it arrived, with its ids in brackets, and both forms of its text. */
type Answer = { id: string; references: string[]; html: string; text: string; subject: string }
type Fields = Record<string, string | undefined>
/** Fields of the header beside those that every mail has, and the body: HTML, or text and HTML. */
type Reply = { fields: Fields; html?: string; text?: string }

const WORDS = 'It works now, thanks.'

const outlookRule = (lines: string[]) =>
  `<div><div style='border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in'><p class=MsoNormal>${lines.join('<br>')}</p></div></div>`

/** Writes each octet of a text as a hexadecimal number, in words of at most 75 characters (RFC 2047). */
function encoded(text: string, charset = 'utf-8', most = 18): string {
  const octets = text.replace(
    /[^A-Za-z0-9]/g,
    (one) => `=${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  const pieces = octets.match(new RegExp(`(?:=..|[^=]){1,${most}}`, 'g'))!
  return pieces.map((piece) => `=?${charset}?q?${piece}?=`).join('\r\n ')
}

const PEERS: [string, (answer: Answer) => Reply, rule?: string][] = [
  [
    'Outlook, which folds References and has its own index',
    ({ id, references, html }) => ({
      fields: {
        In_Reply_To: id,
        References: [...references, id].join('\r\n\t'),
        Thread_Topic: 'Printer',
        Thread_Index: 'AQHaXg2kq0S7hJ3kZ0OqkGd3x1yVbLGv0pZw',
      },
      html: `<div class=WordSection1><p class=MsoNormal>${WORDS}</p><p class=MsoNormal>&nbsp;</p>${outlookRule(['<b>გამომგზავნი:</b> Help', '<b>გაგზავნის დრო:</b> 17.11.2026 9:00'])}${html}</div>`,
    }),
  ],
  [
    'Outlook on the web, with ids on a line of their own',
    ({ id, html }) => ({
      fields: { In_Reply_To: `\r\n ${id}`, References: `\r\n ${id}` },
      html: `<div>${WORDS}</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>Sendandi:</b> Help<br><b>Sent:</b> 17</div>${html}`,
    }),
  ],
  [
    'Gmail, in Icelandic',
    ({ id, references, text, html }) => ({
      fields: { In_Reply_To: id, References: [...references, id].join(' ') },
      text: `${WORDS}\n\nþri., 17. nóv. 2026 kl. 09:00 skrifaði Help <help@desk.example>:\n\n${text.replace(/^/gm, '> ')}`,
      html: `<div dir="ltr">${WORDS}</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">þri., 17. nóv. 2026 kl. 09:00 skrifaði Help:<br></div><blockquote class="gmail_quote">${html}</blockquote></div>`,
    }),
  ],
  [
    'Apple Mail, in Khmer, with References alone',
    ({ id, references, html }) => ({
      fields: { References: [...references, id].join(' ') },
      html: `<div>${WORDS}</div><div><br><blockquote type="cite"><div>នៅ ១៧ វិច្ឆិកា ២០២៦ ម៉ោង ០៩:០០ Help បានសរសេរ៖</div><br><div>${html}</div></blockquote></div>`,
    }),
    'references',
  ],
  [
    'Thunderbird, in Basque',
    ({ id, html }) => ({
      fields: { In_Reply_To: id, References: id },
      html: `<p>${WORDS}</p><div class="moz-cite-prefix">2026/11/17 09:00(e)an, Help igorleak idatzi zuen:<br></div><blockquote type="cite" cite="mid:${id.slice(1, -1)}">${html}</blockquote>`,
    }),
  ],
  [
    "Python's email, which encodes long ids",
    ({ id, references, text }) => ({
      fields: { In_Reply_To: encoded(id), References: [...references, id].map((one) => encoded(one)).join('\r\n ') },
      text: `${WORDS}\n\nOn 2026-11-17 09:00, Help wrote:\n${text.replace(/^/gm, '> ')}`,
    }),
  ],
  [
    'Frappe, in one encoded word with its brackets within',
    ({ id, html }) => ({
      fields: { In_Reply_To: encoded(id, 'UTF-8', 300) },
      html: `<div>${WORDS}</div><blockquote type="cite">On 17 Nov 2026, at 09:00, Help wrote:<br>${html}</blockquote>`,
    }),
  ],
  [
    'Elixir, which folds within an id',
    ({ id, text }) => ({
      fields: { References: `${id.slice(0, 40)}\r\n ${id.slice(40)}`, X_Mailer: 'gen_smtp' },
      text: `${WORDS}\n\n----- Original Message -----\nFrom: Help <help@desk.example>\nSent: 17 Nov 2026\n\n${text}`,
    }),
    'references',
  ],
  [
    'Yahoo, whose relay lost the brackets',
    ({ id, references, html }) => ({
      fields: {
        In_Reply_To: id.slice(1, -1),
        References: [...references, id].map((one) => one.slice(1, -1)).join(' '),
      },
      html: `<div>${WORDS}</div><div id="yahoo_quoted_123456" class="yahoo_quoted"><div>Op 17 nov 2026 schreef Help:</div>${html}</div>`,
    }),
  ],
  [
    'an old mailer with words around the id',
    ({ id, text }) => ({
      fields: { In_Reply_To: `Message from Help <help@desk.example> of "Tue, 17 Nov 2026 09:00:00 +0100." ${id}` },
      text: `${WORDS}\n\n${text.replace(/^/gm, '> ')}`,
    }),
  ],
  [
    'Zoho, with a comment behind the id',
    ({ id, html }) => ({
      fields: { In_Reply_To: `${id} (Help's message of 17 Nov 2026)` },
      html: `<div>${WORDS}</div><div class="zmail_extra"><div>---- 17 नवंबर २०२६ को Help ने लिखा ----</div><blockquote>${html}</blockquote></div>`,
    }),
  ],
  [
    'Proton, behind a gateway that writes ids in capitals',
    ({ id, html }) => ({
      fields: { In_Reply_To: id.toUpperCase(), References: id.toUpperCase() },
      html: `<div>${WORDS}</div><div class="protonmail_quote">Ar an Máirt 17 Samhain 2026 scríobh Help:<br><blockquote type="cite">${html}</blockquote></div>`,
    }),
  ],
  [
    'an Exchange that keeps no ids, but its index and the subject',
    ({ subject, html }) => ({
      fields: { Subject: `VS: ${subject}`, Thread_Index: 'AQHaXg2kq0S7hJ3kZ0OqkGd3x1yVbLGv0pZw' },
      html: `<p>${WORDS}</p>${outlookRule(['<b>Lähettäjä:</b> Help', '<b>Lähetetty:</b> 17.11.2026'])}${html}`,
    }),
    'subject_code',
  ],
]

test.each(PEERS)('%s: the reply comes to the ticket', async (_, replyTo, rule = 'in_reply_to') => {
  const from = `Paula Peer <p.${newId().slice(-8)}@peer.example>`
  const first = `<${newId()}@peer.example>`
  const mail = { From: from, To: desk.address, Subject: 'Printer', Message_ID: first }
  const { ticket_id } = await importMail(desk.admin, desk.mailbox_id, rawMail(mail, 'The printer is out of toner.'))
  const { fields, html, text } = replyTo(await answerTo(ticket_id))
  const own = { ...mail, Subject: 'Re: Printer', Message_ID: `<${newId()}@peer.example>`, ...fields }
  const row = await importMail(desk.admin, desk.mailbox_id, withBody(own, html, text))
  expect(row).toMatchObject({ outcome: 'message', rule, ticket_id })
  const { messages } = await readTicket(desk.agent, ticket_id)
  expect(messages.at(-1)).toMatchObject({ id: row.message_id, direction: 'inbound', reply_text: WORDS })
})

/** Sends an answer, and reads it as the customer's program does. */
async function answerTo(ticket_id: string): Promise<Answer> {
  const sent = desk.sink.messages.length
  await createMessage(desk.agent, ticket_id, { body: 'Please turn it off and on.\n\nWhat does its display say?' })
  await drain()
  const mail: ParsedMail = await simpleParser(desk.sink.messages[sent]!.raw)
  return {
    id: mail.messageId!,
    references: [mail.references ?? []].flat(),
    html: mail.html || '',
    text: mail.text!,
    subject: mail.subject!,
  }
}

function withBody(fields: Fields, html: string | undefined, text: string | undefined): Buffer {
  const TEXT = 'text/plain; charset=utf-8'
  const HTML = 'text/html; charset=utf-8'
  if (html === undefined) return rawMail({ ...fields, Content_Type: TEXT }, text)
  if (text === undefined) return rawMail({ ...fields, Content_Type: HTML }, html)
  const parts = `--b\nContent-Type: ${TEXT}\n\n${text}\n--b\nContent-Type: ${HTML}\n\n${html}\n--b--`
  return rawMail({ ...fields, Content_Type: 'multipart/alternative; boundary=b' }, parts)
}
