/** Answers to email of ours that has earlier messages below it: they thread, and show their new words alone. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { simpleParser } from 'mailparser'
import { answerOf } from '../../../src/mail/parse/answer-words'
import { parseMail } from '../../../src/mail/parse/parse'
import { type StartedDesk, startDesk } from '../../support/desk'
import { createMessage } from '../../support/factories'
import { drain, importMail, rawMail, readTicket } from '../../support/mail'

const WORDS = {
  English: 'The pump smokes, and I do not know what to do with it.',
  German: 'Die Pumpe raucht, und ich weiß nicht, was mit ihr zu tun ist.',
}

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ name: 'Acme support', quote: 'all', signature: 'Yours, Acme' })
})
beforeEach(() => {
  desk.sink.messages.length = 0
})
afterAll(() => desk.stop())

let mails = 0

function mailOf(fields: Record<string, string | undefined>, body: string): Buffer {
  mails += 1
  const mail = { From: 'Carla <carla@customer.example>', Message_ID: `<answer-${mails}@customer.example>` }
  return rawMail({ ...mail, To: desk.address, Subject: 'Pump', Content_Transfer_Encoding: '8bit', ...fields }, body)
}

/** A conversation whose last email is ours and quotes all before it. */
async function converse(words: string) {
  const { ticket_id } = await importMail(
    desk.admin,
    desk.mailbox_id,
    mailOf({ Content_Type: 'text/plain; charset=utf-8' }, words),
  )
  await createMessage(desk.agent, ticket_id, { body: 'Try water.', send_email: false })
  const { email_message_id } = await createMessage(desk.agent, ticket_id, { body: '<p>And <b>now</b>?</p>' })
  await drain()
  const { raw } = desk.sink.messages.at(-1)!
  const { text = '', html } = await simpleParser(raw)
  return { ticket_id, email_message_id, raw, sent: { text: text.trimEnd(), html: String(html).trim() } }
}

type Sent = { text: string; html: string }

const marked = (text: string) => text.replace(/^/gm, '> ').replace(/^> >/gm, '>>')
const FIELDS = ['From: Acme support <help@desk.example>', 'Sent: Tuesday, November 17, 2026 9:00 AM']
const FELDER = ['Von: Acme support <help@desk.example>', 'Gesendet: Dienstag, 17. November 2026 09:00']
const RULE = 'border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in'

/** Mail programs: how each quotes what it answers. */
const PROGRAMS: [string, (sent: Sent) => Partial<Sent>][] = [
  [
    'Gmail',
    ({ text, html }) => ({
      text: `New words.\n\nOn Tue, Nov 17, 2026 at 9:00 AM Acme support <help@desk.example>\nwrote:\n\n${marked(text)}`,
      html: `<div dir="ltr">New words.</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On Tue, Nov 17, 2026 at 9:00 AM Acme support &lt;help@desk.example&gt; wrote:<br></div><blockquote class="gmail_quote" style="margin:0">${html}</blockquote></div>`,
    }),
  ],
  [
    'Outlook on Windows',
    ({ text, html }) => ({
      text: `New words.\n\n${FIELDS.join('\n')}\nTo: Carla\nSubject: Re: Pump\n\n${text.replaceAll(/^> /gm, '')}`,
      html: `<div class="WordSection1"><p>New words.</p><div><div style='${RULE}'><p>${FIELDS.join('<br>').replace('<help', '&lt;help').replace('example>', 'example&gt;')}<br>To: Carla<br>Subject: Re: Pump</p></div></div>${html}</div>`,
    }),
  ],
  [
    'Outlook in German',
    ({ text }) => ({
      text: `New words.\n\n${FELDER.join('\n')}\nAn: Carla\nBetreff: Re: Pump\n\n${text.replaceAll(/^> /gm, '')}`,
    }),
  ],
  [
    'Outlook on the web',
    ({ html }) => ({
      html: `<div>New words.</div><div id="appendonsend"></div><hr style="width:98%"><div id="divRplyFwdMsg"><b>From:</b> Acme</div>${html}`,
    }),
  ],
  [
    'Outlook in plain text',
    ({ text }) => ({
      text: `New words.\n\n-----Original Message-----\n${FIELDS.join('\n')}\nTo: Carla\nSubject: Re: Pump\n\n${text}`,
    }),
  ],
  [
    'Apple Mail',
    ({ text, html }) => ({
      text: `New words.\n\n${marked(`On 17. Nov 2026, at 09:00, Acme support <help@desk.example> wrote:\n\n${text}`)}`,
      html: `<div>New words.</div><div><br><blockquote type="cite"><div>On 17. Nov 2026, at 09:00, Acme support &lt;help@desk.example&gt; wrote:</div><br class="Apple-interchange-newline"><div>${html}</div></blockquote></div>`,
    }),
  ],
  [
    'Thunderbird, above the quotation',
    ({ text, html }) => ({
      text: `New words.\n\nOn 17.11.26 09:00, Acme support wrote:\n${marked(text)}`,
      html: `<p>New words.</p><div class="moz-cite-prefix">On 17.11.26 09:00, Acme support wrote:<br></div><blockquote type="cite">${html}</blockquote>`,
    }),
  ],
  [
    'Thunderbird, below the quotation',
    ({ text, html }) => ({
      text: `On 17.11.26 09:00, Acme support wrote:\n${marked(text)}\n\nNew words.`,
      html: `<div class="moz-cite-prefix">On 17.11.26 09:00, Acme support wrote:<br></div><blockquote type="cite">${html}</blockquote><p>New words.</p>`,
    }),
  ],
  [
    'a program for text',
    ({ text }) => ({ text: `New words.\n\nAm 17.11.2026 um 09:00 schrieb Acme support:\n${marked(text)}` }),
  ],
  [
    'a program that keeps the quotation alone',
    ({ text }) => ({ text: `New words.\n\n${text.slice(text.indexOf('-----'))}` }),
  ],
  [
    'the same in HTML',
    ({ html }) => ({ html: `<p>New words.</p>${html.slice(html.indexOf('<div class="gmail_quote"'))}` }),
  ],
  [
    'the same, whose marks a gateway took away',
    ({ html }) => ({
      html: `<p>New words.</p>${html.slice(html.indexOf('<div class="gmail_quote"')).replaceAll(/ class="[^"]*"/g, '')}`,
    }),
  ],
]

function bodyOf({ text, html }: Partial<Sent>): { Content_Type: string; body: string } {
  if (html === undefined) return { Content_Type: 'text/plain; charset=utf-8', body: text! }
  if (text === undefined) return { Content_Type: 'text/html; charset=utf-8', body: html }
  const part = (type: string, content: string) => `--b\nContent-Type: ${type}; charset=utf-8\n\n${content}\n`
  const body = `${part('text/plain', text)}${part('text/html', html)}--b--\n`
  return { Content_Type: 'multipart/alternative; boundary=b', body }
}

describe.each(Object.entries(WORDS))('an answer to quoted words in %s', (_, words) => {
  test.each(PROGRAMS)('of %s threads and shows its new words alone', async (_, write) => {
    const { ticket_id, email_message_id, sent } = await converse(words)
    const { Content_Type, body } = bodyOf(write(sent))
    const raw = mailOf({ In_Reply_To: `<${email_message_id}>`, Content_Type }, body)
    const row = await importMail(desk.admin, desk.mailbox_id, raw)
    expect([row.ticket_id, row.rule]).toEqual([ticket_id, 'in_reply_to'])
    const { messages } = await readTicket(desk.agent, ticket_id)
    expect(messages.at(-1).reply_text).toBe('New words.')
    // A member's answer is sent on without what it quotes.
    const answer = answerOf(await parseMail(raw))
    expect(answer.text).toBe('New words.')
    expect(answer.body ?? answer.body_html).not.toMatch(/water|pump/i)
  })

  test('ends at our line in mail that answers nothing, too', async () => {
    const { sent } = await converse(words)
    for (const part of [
      { text: `New words.\n\n${sent.text.slice(sent.text.indexOf('-----'))}` },
      { html: `<p>New words.</p>${sent.html.slice(sent.html.indexOf('<div class="gmail_quote"'))}` },
    ]) {
      const { Content_Type, body } = bodyOf(part)
      expect((await parseMail(mailOf({ Content_Type }, body))).reply_text).toBe('New words.')
    }
  })
})

describe('our own email that comes back', () => {
  const forwarded = (raw: Uint8Array, change = (text: string) => text) =>
    Buffer.from(
      change(
        Buffer.from(raw)
          .toString('latin1')
          .replace(/^From: .*$/m, 'From: <f@forwarder.example>'),
      ),
      'latin1',
    )

  test.each(Object.values(WORDS))('is known with all that it quotes: %s', async (words) => {
    const { raw } = await converse(words)
    expect((await importMail(desk.admin, desk.mailbox_id, forwarded(raw))).outcome).toBe('own')
  })

  test('is known when what it quotes was deleted since', async () => {
    const { raw, ticket_id } = await converse(WORDS.English)
    const [first] = (await readTicket(desk.agent, ticket_id)).messages
    await desk.agent.delete(`/tickets/${ticket_id}/messages/${first.id}`)
    expect((await importMail(desk.admin, desk.mailbox_id, forwarded(raw))).outcome).toBe('own')
  })

  test('is filed with words of somebody below the quotation', async () => {
    const { raw } = await converse(WORDS.English)
    const text = Buffer.from(raw).toString('latin1')
    const place = text.search(/\r\n--[^\r\n]+\r\nContent-Type: text\/html/)
    const changed = `${text.slice(0, place)}\r\nThis is what I say.\r\n${text.slice(place)}`
    const row = await importMail(desk.admin, desk.mailbox_id, forwarded(Buffer.from(changed, 'latin1')))
    expect(row.outcome).not.toBe('own')
    const { messages } = await readTicket(desk.agent, row.ticket_id)
    expect(messages.at(-1).body).toContain('This is what I say.')
  })
})
