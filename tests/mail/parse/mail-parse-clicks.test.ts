/** Answers by a click: an emoji of Gmail, a meeting accepted or declined. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const PLAIN = 'Content-Type: text/plain; charset=utf-8'
const HTML = 'Content-Type: text/html; charset=utf-8'
const REACTION = 'Content-Type: text/vnd.google.email-reaction+json; charset=utf-8'

function multipart(type: string, ...parts: string[][]): Buffer {
  const lines = [
    'From: Ann <ann@x.org>',
    'Subject: Re: Pump',
    'In-Reply-To: <1@desk.example>',
    'MIME-Version: 1.0',
    `Content-Type: multipart/${type}; boundary=b`,
    '',
    ...parts.flatMap((part) => ['--b', ...part]),
    '--b--',
    '',
  ]
  return Buffer.from(lines.join('\r\n'))
}

const emojiPart = (emoji: string) => [REACTION, '', JSON.stringify({ emoji, version: 1 })]

describe('a reaction of Gmail', () => {
  const plain = (emoji: string) => [
    PLAIN,
    '',
    `${emoji} Ann reacted via Gmail\r\n\r\nOn Tue, Nov 17, 2026 at 9:00 AM S <s@x.org> wrote:\r\n> Old.`,
  ]
  const html = (emoji: string) => [
    HTML,
    '',
    `<div>${emoji}<p>Ann reacted via <a href="https://google.com/gmail/about">Gmail</a></p></div>`,
  ]

  test.each(['👍', '🙏', '❤️', '🇩🇪', '5️⃣', '👩🏽‍🔧', '🙃', '✅'])('is its emoji and no file: %s', async (emoji) => {
    for (const parts of [
      [plain(emoji), emojiPart(emoji), html(emoji)],
      [plain(emoji), html(emoji), emojiPart(emoji)],
      [emojiPart(emoji), html(emoji)],
    ]) {
      const { text, reply_text, body_html, attachments } = await parseMail(multipart('alternative', ...parts))
      expect([text, reply_text, body_html, attachments]).toEqual([emoji, emoji, emoji, []])
    }
  })

  test('may be the whole message, in base64', async () => {
    const json = Buffer.from('{\n  "emoji": "🎉",\n  "version": 1\n}').toString('base64')
    const raw = `From: ann@x.org\r\n${REACTION}\r\nContent-Transfer-Encoding: base64\r\n\r\n${json}\r\n`
    const { text, attachments } = await parseMail(Buffer.from(raw))
    expect([text, attachments]).toEqual(['🎉', []])
  })

  test.each([
    ['of a broken part', 'not json'],
    ['of words instead of an emoji', '{"emoji":"Pay me","version":1}'],
    ['of a number', '{"emoji":5,"version":1}'],
    ['of many signs', JSON.stringify({ emoji: '👍'.repeat(50), version: 1 })],
  ])('%s leaves the text as it is', async (_, json) => {
    const { text, attachments } = await parseMail(
      multipart('alternative', [PLAIN, '', 'Thanks!'], [REACTION, '', json]),
    )
    expect([text.trim(), attachments]).toEqual(['Thanks!', []])
  })

  test('hides no words that somebody wrote beside it', async () => {
    const words = 'The pump leaks again. '.repeat(60).trim()
    expect((await parseMail(multipart('alternative', [PLAIN, '', words], emojiPart('👍')))).text.trim()).toBe(words)
  })

  test('that is attached is a file', async () => {
    const [type, ...rest] = emojiPart('👍')
    const file = [type!, 'Content-Disposition: attachment; filename=r.json', ...rest]
    const { text, attachments } = await parseMail(multipart('mixed', [PLAIN, '', 'See file'], file))
    expect([text.trim(), attachments.map(({ filename }) => filename)]).toEqual(['See file', ['r.json']])
  })
})

describe('an answer to an invitation', () => {
  const calendar = (attendee: string, method = 'REPLY', more: string[] = []) => [
    `Content-Type: text/calendar; charset=utf-8; method=${method}`,
    '',
    'BEGIN:VCALENDAR',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    attendee,
    'SUMMARY;LANGUAGE=en-US:Pump\\, second visit',
    ...more,
    'END:VEVENT',
    'END:VCALENDAR',
  ]
  const of = (status: string) => `ATTENDEE;PARTSTAT=${status};CN="Ann: Acme":mailto:ann@x.org`

  test.each([
    ['Outlook, accepted', calendar(of('ACCEPTED')), 'Accepted: Pump, second visit'],
    ['Outlook, declined', calendar(of('DECLINED')), 'Declined: Pump, second visit'],
    ['Outlook, tentative', calendar(of('TENTATIVE')), 'Tentatively accepted: Pump, second visit'],
    [
      'a folded line',
      calendar('ATTENDEE;CN=Ann;PARTSTAT=ACC\r\n EPTED:mailto:ann@x.org'),
      'Accepted: Pump, second visit',
    ],
    ['lower case', calendar('attendee;partstat=accepted:mailto:ann@x.org'), 'Accepted: Pump, second visit'],
    ['a new time', calendar(of('TENTATIVE'), 'COUNTER'), 'Proposed a new time: Pump, second visit'],
    [
      'words',
      calendar(of('DECLINED'), 'REPLY', ['COMMENT:Sorry\\, I am away.']),
      'Declined: Pump, second visit\n\nSorry, I am away.',
    ],
    ['delegated', calendar(of('DELEGATED')), 'Delegated: Pump, second visit'],
  ])('says so when it says nothing else: %s', async (_, part, expected) => {
    const blank = [HTML, '', '<html><head><style>p{}</style></head><body><p>&nbsp;</p></body></html>']
    for (const raw of [
      multipart('alternative', [PLAIN, '', ''], part),
      multipart('mixed', blank, part),
      multipart('alternative', [PLAIN, '', ' '], blank, part),
    ]) {
      const { text, reply_text, body_html, attachments } = await parseMail(raw)
      expect([text, reply_text, body_html.includes('Pump')]).toEqual([expected, expected, true])
      expect(attachments.map(({ filename }) => filename)).toEqual(['attachment.ics'])
    }
  })

  test.each([
    ['its own words', [PLAIN, '', 'I come later.'], calendar(of('ACCEPTED')), 'I come later.'],
    ['an answer without a status', [PLAIN, '', ''], calendar('ATTENDEE:mailto:ann@x.org'), ''],
    ['a calendar that is published', [PLAIN, '', ''], calendar(of('ACCEPTED'), 'PUBLISH'), ''],
    ['an image', [HTML, '', '<p><img src="cid:1" alt="Yes"></p>'], calendar(of('ACCEPTED'), 'REQUEST'), 'Yes'],
  ])('with %s stays as it is', async (_, text, part, expected) => {
    expect((await parseMail(multipart('alternative', text, part))).text.trim()).toBe(expected)
  })
})
