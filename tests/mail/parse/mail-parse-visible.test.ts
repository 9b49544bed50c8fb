/** Words that are there are seen, and what a mail hides is not: each mail was judged before it was read. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const FROM = 'From: Ann <ann@example.com>'
const HTML = 'Content-Type: text/html; charset=utf-8'

function page(html: string): Buffer {
  return Buffer.from([FROM, HTML, '', html].join('\r\n'))
}

function both(text: string, html: string): Buffer {
  const parts = ['--b', 'Content-Type: text/plain; charset=utf-8', '', text, '--b', HTML, '', html, '--b--', '']
  return Buffer.from([FROM, 'Content-Type: multipart/alternative; boundary=b', '', ...parts].join('\r\n'))
}

const PICTURE = '<img src="https://x.org/a.png">'

describe('what is hidden', () => {
  test.each([
    ['by display', '<div style="display:none;max-height:0">Peek</div><p>Shown</p>'],
    ['by display in capitals', '<DIV STYLE="DISPLAY : NONE !important">Peek</DIV><p>Shown</p>'],
    ['by a class', '<style>.pre{display:none!important}</style><span class="a pre">Peek</span><p>Shown</p>'],
    [
      'by a class of an element',
      '<style>p{}td.x , span.x{ mso-hide:all }</style><span class=x>Peek</span><p>Shown</p>',
    ],
    ['by an id', '<head><style><!-- #pre { display: none } --></style></head><div id="pre">Peek</div><p>Shown</p>'],
    ['by visibility', '<div style="visibility:hidden">Peek<span style="visibility:visible">Shown</span></div>'],
    ['for Outlook', '<span style="mso-hide:all">Peek</span><p>Shown</p>'],
    ['by a size of nothing', '<td style="font-size:0px">Peek<div style="font-size:13px">Shown</div></td>'],
    ['by a short form of a size', '<p style="font:0/0 a">Peek</p><p>Shown</p>'],
    ['by a height', '<div style="max-height:0px;overflow:hidden">Peek</div><p>Shown</p>'],
    ['by opacity', '<div style="opacity:0">Peek</div><p>Shown</p>'],
    ['by an attribute', '<div hidden>Peek</div><p>Shown</p>'],
    ['with an entity in the style', '<div style="display&#58;none">Peek</div><p>Shown</p>'],
    ['in an element without end', '<p>Shown</p><div style="display:none">Peek<p>Peek</p>'],
    ['in an unknown element', '<preheader style="display:none">Peek</preheader><p>Shown</p>'],
    ['as a table', '<table style="display:none"><tr><td>Peek</td></tr></table><p>Shown</p>'],
  ])('%s is in no text', async (_, html) => {
    const { text, body_html, reply_text } = await parseMail(page(html))
    expect([text, reply_text]).toEqual(['Shown', 'Shown'])
    expect(body_html).toContain('Shown')
    expect(body_html).not.toContain('Peek')
  })

  test.each([
    ['for small screens', '<style>@media (max-width:600px){.x{display:none}}</style><p class="x">Shown</p>'],
    ['for Outlook', '<!--[if mso]><style>.x{display:none}</style><![endif]--><p class="x">Shown</p>'],
    ['and shown by its own style', '<style>.x{display:none}</style><p class="x" style="display:block">Shown</p>'],
    ['of another class', '<style>.x .y{display:none}.xy{display:none}</style><p class="x">Shown</p>'],
    ['from Outlook, which draws the button', '<a href="https://x.org/" style="mso-hide:all">Shown</a>'],
    ['by a height that hides nothing', '<div style="height:0">Shown</div>'],
    ['by an almost full opacity', '<div style="opacity:0.9">Shown</div>'],
    ['in a text about it', '<p>Shown: style="display:none"</p>'],
  ])('%s is seen', async (_, html) => {
    const { text, body_html } = await parseMail(page(html))
    expect(text).toContain('Shown')
    expect(body_html).toContain('Shown')
  })

  test.each([
    ['', '<div style="display:none">The only words</div>'],
    ['beside a blank', '<p>&nbsp;</p><div style="display:none">The only words</div>'],
    ['in a text field', '<textarea>The only words</textarea>'],
  ])('is shown when nothing else is left %s', async (_, html) => {
    const { text, body_html } = await parseMail(page(html))
    expect(text.trim()).toBe('The only words')
    expect(body_html).toContain('The only words')
  })

  test('in a long style sheet takes no time', async () => {
    const classes = Array.from({ length: 5000 }, (_, index) => `.a${index},.a .b{display:none}`).join('')
    const rows = `<p class="${Array.from({ length: 200 }, (_, index) => `a${index}`).join(' ')}">x</p>`.repeat(900)
    const started = process.cpuUsage()
    await parseMail(page(`<style>${classes}</style>${'<style>'.repeat(5000)}</style>${rows}`))
    await parseMail(page(`${'<style>/*'.repeat(90_000)}${'<div style="display:none">'.repeat(10_000)}`))
    const { user, system } = process.cpuUsage(started)
    expect((user + system) / 1e6).toBeLessThan(8)
  })
})

describe('a page that shows none of the words', () => {
  test.each([
    ['but a picture', PICTURE],
    ['but hides them', `<div style="display:none">Real words here</div>${PICTURE}`],
    ['but is empty', '<html><head><title>Real words here</title></head><body></body></html>'],
    ['but others', '<p>Neues Fenster</p>'],
  ])('%s is made from the text', async (_, html) => {
    const { text, body_html } = await parseMail(both('Real words here', html))
    expect(text).toBe('Real words here')
    expect(body_html).toBe('Real words here')
  })

  test.each([
    ['some of the words', 'The pump leaks since Monday', '<p>The <b>pump</b></p>'],
    ['the words of another script', '水泵漏水', '<p>水<b>泵</b>漏水</p>'],
    ['divided words', 'Pump', '<p>P<b>ump</b></p>'],
    ['a picture, beside a text without words', ':-)', PICTURE],
  ])('stays with %s', async (_, text, html) => {
    expect((await parseMail(both(text, html))).body_html).toStartWith('<')
  })
})

test('words stand above a page that shows none of them, and has as many of its own', async () => {
  const page = '<p>All our pumps are half price today</p>'
  for (const words of ['Open: x.org', 'Please call me']) {
    expect((await parseMail(both(words, page))).body_html).toBe(`${words}<hr>${page}`)
  }
})

describe('colours', () => {
  const colors = async (html: string) => (await parseMail(page(html))).body_html

  test('white words of a dark page are not white on white', async () => {
    for (const html of [
      '<body bgcolor="#000000"><p style="color:#ffffff">Words</p></body>',
      '<body style="background:#111"><p style="color:white">Words</p></body>',
      '<p><font color="ffffff">Words</font></p>',
      '<p style="color:#fefefe">Words</p>',
      '<p style="color:#ffff00">Words</p>',
    ]) {
      expect(await colors(html)).toMatch(/^<p>(?:<font>)?Words/)
    }
  })

  test('white words on a dark ground of the message stay', async () => {
    const cell = '<table><tr><td bgcolor="#222222"><p style="color:#ffffff">Words</p></td></tr></table>'
    expect(await colors(cell)).toBe(cell)
    const box = '<div style="background-color:#0b5ed7"><span style="color:#fff">Words</span></div>'
    expect(await colors(box)).toBe(box)
  })

  test('a ground that hides the words around it goes', async () => {
    const html = '<div style="color:#fff;background-color:#000">A<p style="background-color:#eee">Words</p></div>'
    expect(await colors(html)).toBe('<div style="color:#fff;background-color:#000">A<p>Words</p></div>')
    expect(await colors('<p style="background-color:#111">Words</p>')).toBe('<p>Words</p>')
  })

  test('a faint ground counts as what it looks like', async () => {
    const html = '<p style="color:#fff;background-color:rgba(0,0,0,0.1)">Words</p>'
    expect(await colors(html)).toBe('<p style="background-color:rgba(0,0,0,0.1)">Words</p>')
  })

  test('words in another attribute are no colours', async () => {
    const html = '<p title="a style=" style="color:#fff">Words</p>'
    expect(await colors(html)).toBe('<p title="a style=">Words</p>')
  })
})

describe('control characters', () => {
  test('are dropped, but for tabs and line breaks', async () => {
    const raw = [
      'From: =?utf-8?Q?A=07n=C2=85n?= <ann@example.com>',
      'Subject: Pu\bm=?utf-8?Q?p=1B_leaks?=',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'a\x07b\x1b[1m\tc\x7f\u0085d\vx',
      'e',
    ]
    const { from, subject, text, body_html } = await parseMail(Buffer.from(raw.join('\r\n')))
    expect([from?.name, subject]).toEqual(['Ann', 'Pump leaks'])
    expect(text).toBe('ab[1m\tcdx\ne')
    expect(body_html).not.toMatch(/(?![\n\t])\p{Cc}/u)
  })

  test('are dropped where HTML writes them as numbers', async () => {
    const { text, body_html } = await parseMail(page('<p>a&#8;b&#x1b;c&#127;</p>'))
    expect([text, body_html]).toEqual(['abc', '<p>abc</p>'])
  })
})
