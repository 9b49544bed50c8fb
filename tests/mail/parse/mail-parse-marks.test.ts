/** Replies whose HTML marks what is quoted, in languages that no list has: each was judged before it was read. */
import { describe, expect, test } from 'bun:test'
import { answerOf } from '../../../src/mail/parse/answer-words'
import { parseMail } from '../../../src/mail/parse/parse'
import { replyText } from '../../../src/mail/parse/reply-text'

const HEADER = ['From: Ann <ann@example.com>', 'Subject: Re: Pump', 'In-Reply-To: <1@desk.example>']
const HTML = 'Content-Type: text/html; charset=utf-8'

async function replyOf(html: string, text?: string): Promise<string | null> {
  const parts = ['--b', 'Content-Type: text/plain; charset=utf-8', '', text ?? '', '--b', HTML, '', html, '--b--', '']
  const lines =
    text === undefined ? [HTML, '', html] : ['Content-Type: multipart/alternative; boundary=b', '', ...parts]
  return (await parseMail(Buffer.from([...HEADER, ...lines].join('\r\n')))).reply_text
}

const OLD = '<p>Old words.</p><p>More old words.</p>'
/** Announcements in Georgian, Swahili, Icelandic and Zulu. */
const KA = 'სამ, 17 ნოე. 2026, 09:00, დახმარება წერდა:'
const SW = 'Tarehe Jumanne 17 Novemba, Msaada aliandika:'
const IS = 'Þann þri., 17. nóv. 2026 kl. 09:00 skrifaði Hjálp:'
const RULE = 'border:none; border-top:solid #E1E1E1 1.0pt; padding:3.0pt 0in 0in 0in'

describe('a reply ends where the HTML says so', () => {
  test.each([
    [
      'Gmail',
      `<div dir="ltr">Yes, thanks.</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">${KA}<br></div><blockquote class="gmail_quote" style="margin:0">${OLD}</blockquote></div>`,
    ],
    [
      'Outlook on the web',
      `<div>Yes, thanks.</div><div id="appendonsend"></div><hr style="width:98%"><div id="divRplyFwdMsg"><b>Kutoka:</b> Msaada<br><b>Kichwa:</b> Pampu</div>${OLD}`,
    ],
    ['Outlook without a beginning', `<p>Yes, thanks.</p><hr><div id="divRplyFwdMsg"><b>Frá:</b> Hjálp</div>${OLD}`],
    [
      'Outlook on Windows',
      `<div class="WordSection1"><p>Yes, thanks.</p><div><div style='${RULE}'><p><b>Frá:</b> Hjálp<br><b>Efni:</b> Dæla</p></div></div>${OLD}</div>`,
    ],
    [
      'Outlook on a phone',
      `<div>Yes, thanks.</div><div class="ms-outlook-mobile-reference-message"><b>Kutoka:</b> Msaada</div>`,
    ],
    [
      'Thunderbird',
      `<p>Yes, thanks.</p><div class="moz-cite-prefix">${IS}<br></div><blockquote type="cite">${OLD}</blockquote>`,
    ],
    [
      'Apple Mail',
      `<div>Yes, thanks.</div><div><br><blockquote type="cite"><div>${KA}</div><br class="Apple-interchange-newline"><div>${OLD}</div></blockquote></div>`,
    ],
    [
      'a quotation with its announcement before it',
      `<p>Yes, thanks.</p><p>${SW}</p><blockquote type="cite">${OLD}</blockquote>`,
    ],
    [
      'Yahoo',
      `<div>Yes, thanks.</div><div id="yahoo_quoted_12" class="yahoo_quoted"><div>${KA}</div><div>${OLD}</div></div>`,
    ],
    [
      'Zoho',
      `<div>Yes, thanks.</div><div class="zmail_extra"><div>---- ${IS} ----</div><blockquote>${OLD}</blockquote></div>`,
    ],
    ['Tuta', `<div>Yes, thanks.</div><div>${KA}</div><blockquote class="tutanota_quote">${OLD}</blockquote>`],
    [
      'Proton',
      `<div>Yes, thanks.</div><div class="protonmail_quote">${SW}<br><blockquote class="protonmail_quote" type="cite">${OLD}</blockquote><br></div>`,
    ],
    [
      'Zimbra',
      `<div>Yes, thanks.</div><hr id="zwchr" data-marker="__DIVIDER__"><div><b>Kutoka:</b> Msaada</div>${OLD}`,
    ],
    ['GMX', `<div>Yes, thanks.</div><div name="quote" style="margin:10px"><b>Kutoka:</b> Msaada${OLD}</div>`],
    [
      'a signature above the quotation',
      `<div>Yes, thanks.</div><div class="gmail_signature">Ann Smith<br>Example Ltd.</div><div class="gmail_quote">${KA}<blockquote class="gmail_quote">${OLD}</blockquote></div>`,
    ],
    [
      'who writes below the quotation',
      `<div class="moz-cite-prefix">${IS}</div><blockquote type="cite">${OLD}</blockquote><p>Yes, thanks.</p>`,
    ],
  ])('of %s', async (_, html) => {
    expect(await replyOf(html)).toBe('Yes, thanks.')
  })

  test('also in the plain text beside it, whose form it keeps', async () => {
    const html = `<p>Yes,<br>* <b>one</b><br>* two</p><div class="gmail_quote">${SW}<blockquote class="gmail_quote">${OLD}</blockquote></div>`
    expect(await replyOf(html, `Yes,\n  * *one*\n  * two\n\n${SW}\n\nOld words.`)).toBe('Yes,\n* one\n* two')
    expect(await replyOf(html, `Yes,\n * one\n * two\n\n${SW}\n\nOld words.`)).toBe('Yes,\n * one\n * two')
  })

  test('and what stands above and below the quotation stays together', async () => {
    const html = `<p>Yes.</p><div class="moz-cite-prefix">${IS}</div><blockquote type="cite">${OLD}</blockquote><p>Bye.</p>`
    expect(await replyOf(html)).toBe('Yes.\n\nBye.')
  })
})

describe('a reply keeps', () => {
  test('answers between quotations, with what they answer', async () => {
    const html = `<div class="gmail_quote"><div class="gmail_attr">${KA}</div><blockquote class="gmail_quote">One?</blockquote><div>Yes.</div><blockquote class="gmail_quote">Two?</blockquote><div>No.</div></div>`
    const reply = await replyOf(html)
    for (const words of ['One?', 'Yes.', 'Two?', 'No.']) expect(reply).toContain(words)
  })

  test.each([
    [
      'a quotation that its writer made',
      '<p>The error:</p><blockquote type="cite"><p>Pump is dry</p></blockquote><p>Why?</p>',
      'Pump is dry',
    ],
    [
      'a quoted saying of Gmail',
      '<p>See this</p><blockquote class="gmail_quote">Pump is dry</blockquote><p>Why?</p>',
      'Pump is dry',
    ],
    ['a class that is only alike', '<p>See this</p><div class="my_gmail_quotes">Pump is dry</div>', 'Pump is dry'],
    [
      'a box with a line above it',
      '<p>See</p><div style="border-top:solid #E1E1E1 1.0pt">Pump is dry</div>',
      'Pump is dry',
    ],
    ['all, when all is marked', `<div class="gmail_quote"><div>Pump is dry</div></div>`, 'Pump is dry'],
  ])('%s', async (_, html, words) => {
    expect(await replyOf(html)).toContain(words)
  })

  const SHOWN = '<p>The display says:</p><blockquote>Pump is dry</blockquote>'
  const SHOWN_TEXT = 'The display says:\n\n> Pump is dry'

  test.each([
    ['at the end', SHOWN, SHOWN_TEXT],
    ['above a name', `${SHOWN}<p>Ann</p>`, `${SHOWN_TEXT}\n\nAnn`],
    ['twice', `${SHOWN}<blockquote>Call us</blockquote>`, `${SHOWN_TEXT}\n>\n> Call us`],
    [
      'above a quotation that is marked',
      `${SHOWN}<div class="gmail_quote"><div class="gmail_attr">${KA}</div><blockquote class="gmail_quote">${OLD}</blockquote></div>`,
      SHOWN_TEXT,
    ],
    [
      'above a quotation that is announced',
      `${SHOWN}<p>On Tue, 17 Nov 2026 at 09:00, Help &lt;help@desk.example&gt; wrote:</p><blockquote>${OLD}</blockquote>`,
      SHOWN_TEXT,
    ],
  ])('what its writer shows in a bare quotation: %s', async (_, html, words) => {
    expect(await replyOf(html)).toBe(words)
  })

  test('it also where the plain text has it, and in the answer that a member sends on', async () => {
    expect(await replyOf(SHOWN, SHOWN_TEXT)).toBe(SHOWN_TEXT)
    const mail = await parseMail(Buffer.from([...HEADER, HTML, '', SHOWN].join('\r\n')))
    expect(answerOf(mail)).toMatchObject({ text: SHOWN_TEXT, has_words: true, format: 'html' })
  })

  test('nothing of an announced one, or one without words above it, that is bare', async () => {
    const announced = '<p>On Tue, 17 Nov 2026 at 09:00, Help &lt;help@desk.example&gt; wrote:</p>'
    expect(await replyOf(`<p>Yes</p>${announced}<blockquote>${OLD}</blockquote>`)).toBe('Yes')
    expect(await replyOf(`<blockquote>${OLD}</blockquote><p>Yes</p>`)).toContain('Yes')
    expect(await replyOf(`<p>Yes</p>`, 'Yes\n\n> Old words.')).toBe('Yes')
  })

  test('the note above a mail that is passed on, and nothing of that mail', async () => {
    const fields = 'From: Bob<br>Date: Tue, Nov 17, 2026<br>Subject: Pump<br>To: Ann<br><br>'
    const html = `<div>See below.</div><div class="gmail_quote"><div class="gmail_attr">---------- ფორვარდი ----------<br>${fields}</div><blockquote>Cited</blockquote><p>Passed on</p></div>`
    expect(await replyOf(html)).toBe('See below.')
  })

  test('its words whatever the depth of the marks, in time', async () => {
    const started = process.cpuUsage()
    const deep = `<p>Yes</p>${'<div class="gmail_quote"><blockquote type="cite">'.repeat(40_000)}x`
    expect(await replyOf(deep)).toContain('Yes')
    await replyOf(`${`<p>on 1:</p><blockquote type="cite">${'a'.repeat(20)}</blockquote>`.repeat(12_000)}`)
    await replyOf(
      `<p>${'1'.repeat(300_000)}:</p><blockquote type="cite">x</blockquote>${'<div id=divRplyFwdMsg>'.repeat(20_000)}`,
    )
    const { user, system } = process.cpuUsage(started)
    expect((user + system) / 1e6).toBeLessThan(8)
  })
})

describe('digits of every script', () => {
  const sender = 'Support <support@desk.example>'
  test.each([
    ['Bengali', `মঙ্গল, ১৭ নভেম্বর, ২০২৬ তারিখে ৯:০০ AM এ ${sender} লিখেছেন:`],
    ['Marathi', `मंगळ, १७ नोव्हें, २०२६ रोजी ९:०० AM ${sender} ने लिहिले:`],
    ['Burmese', `၂၀၂၆ နို ၁၇၊ အင်္ဂါ ၉:၀၀ ${sender} က ရေးသည်:`],
    ['Khmer', `នៅ អង្គារ ១៧ វិច្ឆិកា ២០២៦ ម៉ោង ៩:០០ ${sender} បានសរសេរ:`],
    ['full width', `２０２６年１１月１７日 ９:００ ${sender} さん:`],
    ['Adlam', `𞤃 𞥑𞥗 𞤐 𞥒𞥐𞥒𞥖 𞥙:𞥐𞥐 ${sender} 𞤱𞤭𞤲𞤣𞤭:`],
  ])('tell an announcement in %s', (_, announcement) => {
    expect(replyText(`Yes.\n\n${announcement}\n\nOld.`)).toBe('Yes.')
  })
})
