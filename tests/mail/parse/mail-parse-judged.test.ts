/** Mails of our own, each judged before it was read: what is seen, what was answered, and what leads to the ticket. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const HTML = 'Content-Type: text/html; charset=utf-8'
const TEXT = 'Content-Type: text/plain; charset=utf-8'

function read(...lines: string[]) {
  return parseMail(Buffer.from(['From: Ann <ann@example.com>', ...lines].join('\r\n')))
}

describe('words', () => {
  test.each([
    [
      'white words of a mail for dark screens',
      '<body style="background-color:#000"><p style="color:#eee">Help</p></body>',
    ],
    [
      'a preview behind a class of two names',
      '<style>.pre.hid{display:none}</style><i class="pre hid">x1</i><p>Help</p>',
    ],
    ['a preview by an upper-case property', '<span style="Mso-Hide:All;DISPLAY:NONE">x1</span><p>Help</p>'],
    ['a tracking line of no size', '<p>Help</p><p style="font-size:0;line-height:0">x1</p>'],
    ['an invisible cell', '<table><tr><td style="visibility:hidden">x1</td><td>Help</td></tr></table>'],
    [
      'a hidden box within a hidden box',
      '<div style="display:none"><div style="display:block">x1</div></div><p>Help</p>',
    ],
    ['pale grey on white', '<p style="color:rgb(240,240,240)">Help</p>'],
    ['pale grey as hsl', '<p style="color:hsl(0,0%,95%)">Help</p>'],
    ['only hidden words', '<div style="display:none">Help</div>'],
    ['a bell and an escape', '<p>He\x07lp\x1b</p>'],
  ])('%s: "Help" is seen, and nothing else', async (_, html) => {
    const { text, body_html, reply_text } = await read(HTML, '', html)
    expect([text.trim(), reply_text]).toEqual(['Help', 'Help'])
    expect(body_html).toContain('Help')
    expect(body_html).not.toMatch(/x1|color:(?!#eee)/)
  })
})

describe('a reply', () => {
  const QUOTED = '<p>Is it on?</p>'
  test.each([
    ['Gmail in Welsh', `<div>Yes</div><div class="gmail_quote">Ysgrifennodd Bob:<br>${QUOTED}</div>`],
    ['Gmail of today', `<div>Yes</div><div class="gmail_quote gmail_quote_container"><div>Bob:</div>${QUOTED}</div>`],
    ['Outlook in Swahili', `<p>Yes</p><div id="divRplyFwdMsg"><b>Kutoka:</b> Bob</div>${QUOTED}`],
    [
      'Outlook on a phone',
      `<div>Yes</div><div id="ms-outlook-mobile-signature"></div><div id="appendonsend"></div>${QUOTED}`,
    ],
    [
      'Thunderbird in Burmese',
      `<p>Yes</p><div class="moz-cite-prefix">၁၇.၁၁.၂၀၂၆ Bob:</div><blockquote type="cite">${QUOTED}</blockquote>`,
    ],
    [
      'Apple Mail in Bengali',
      `<div>Yes</div><div><blockquote type="cite"><div>১৭ নভেম্বর, ২০২৬, Bob লিখেছেন:</div>${QUOTED}</blockquote></div>`,
    ],
    ['Yahoo in Zulu', `<div>Yes</div><div class="yahoo_quoted">Ngo 17, Bob:<br>${QUOTED}</div>`],
    ['Zoho in Tamil', `<div>Yes</div><div class="zmail_extra">---- Bob ----${QUOTED}</div>`],
    ['Tuta in Maltese', `<div>Yes</div>17 Nov, Bob:<br><blockquote class="tutanota_quote">${QUOTED}</blockquote>`],
    ['Proton in Irish', `<div>Yes</div><div class="protonmail_quote">17, scríobh Bob:<br>${QUOTED}</div>`],
  ])('of %s ends where its HTML says so', async (_, html) => {
    const { reply_text, text } = await read('In-Reply-To: <a@b>', HTML, '', html)
    expect(reply_text).toBe('Yes')
    expect(text).toContain('Is it on?')
  })

  test.each([
    [
      'answers between quotations',
      `<blockquote type="cite">${QUOTED}</blockquote><p>Yes</p><blockquote type="cite">${QUOTED}</blockquote>`,
      'Yes',
    ],
    [
      'an answer below the quotation',
      `<blockquote type="cite">${QUOTED}</blockquote><p>Yes, since 9</p>`,
      'Yes, since 9',
    ],
  ])('keeps %s', async (_, html, words) => {
    expect((await read('In-Reply-To: <a@b>', HTML, '', html)).reply_text).toContain(words)
  })
})

describe('ids', () => {
  const ID = '0123456789abcdefghijklmnopqrstuvwxyz01234567@desk.example'
  test.each([
    ['in base64', `=?utf-8?B?${Buffer.from(`<${ID}>`).toString('base64')}?=`],
    ['whose brackets stand outside of the word', `<=?utf-8?Q?${ID.replace('@', '=40')}?=>`],
    ['in another charset', `=?iso-8859-1?q?=3C${ID.replace('@', '=40')}=3E?=`],
    ['folded by a tab', `<${ID.slice(0, 30)}\r\n\t${ID.slice(30)}>`],
    ['folded before the @', `<${ID.replace('@', '\r\n @')}>`],
    ['with blanks in the brackets', `< ${ID} >`],
  ])('%s are read', async (_, field) => {
    expect((await read(`In-Reply-To: ${field}`, `References: ${field}`, '', 'Hi')).in_reply_to).toEqual([ID])
    expect((await read(`References: ${field}`, '', 'Hi')).references).toEqual([ID])
  })
})

describe('parts and invitations', () => {
  test.each([
    ['case', 'NextPart', '--nextpart'],
    ['quotes', "'NextPart'", '--NextPart'],
    ['a blank', '"Next Part"', '--NextPart'],
  ])('a boundary that differs by %s divides', async (_, declared, line) => {
    const parts = [
      '',
      line,
      TEXT,
      '',
      'Help',
      line,
      'Content-Type: application/pdf; name=a.pdf',
      '',
      '%PDF',
      `${line}--`,
      '',
    ]
    const { text, attachments } = await read(`Content-Type: multipart/mixed; boundary=${declared}`, ...parts)
    expect([text, attachments.map(({ filename }) => filename)]).toEqual(['Help', ['a.pdf']])
  })

  const event = (...lines: string[]) =>
    read(
      'Content-Type: text/calendar; method=REQUEST; charset=utf-8',
      '',
      ...['BEGIN:VCALENDAR', 'METHOD:REQUEST', 'BEGIN:VEVENT', ...lines, 'END:VEVENT', 'END:VCALENDAR', ''],
    )

  test.each([
    [
      'in Tokyo',
      ['SUMMARY:会議', 'DTSTART;TZID=Asia/Tokyo:20270105T100000'],
      'Invitation: 会議\nTime: 2027-01-05 10:00 (Asia/Tokyo)',
    ],
    ['without a time', ['SUMMARY:Lunch', 'LOCATION:Bar'], 'Invitation: Lunch\nPlace: Bar'],
    [
      'of an organizer without a name',
      ['SUMMARY:A', 'ORGANIZER:mailto:bob@x.org'],
      'Invitation: A\nOrganizer: bob@x.org',
    ],
  ])('an invitation %s says so', async (_, lines, words) => {
    expect((await event(...lines)).text).toBe(words)
  })
})

test.each([
  ['Pump=07', 'Pump'],
  ['Pu=00mp', 'Pump'],
  ['P=1B=5B31mump', 'P[31mump'],
  ['Pump=C2=9B', 'Pump'],
  ['Pump=0Dleaks', 'Pump leaks'],
  ['Pump=09leaks', 'Pump leaks'],
])('control characters of %s are in neither subject nor name', async (written, shown) => {
  const raw = [`From: =?utf-8?Q?${written}?= <ann@example.com>`, `Subject: =?utf-8?Q?${written}?=`, '', 'Hi']
  const { from, subject } = await parseMail(Buffer.from(raw.join('\r\n')))
  expect([from?.name, subject]).toEqual([shown, shown])
})
