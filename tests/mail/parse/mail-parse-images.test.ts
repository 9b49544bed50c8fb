/** Images of a message within its HTML, by all the names that mail programs give them. */
import { describe, expect, test } from 'bun:test'
import { parseMail } from '../../../src/mail/parse/parse'

const PICTURE = ['Content-Type: image/png', 'Content-Transfer-Encoding: base64']

describe('an image of the message is shown', () => {
  test.each<[string, string[], string, string]>([
    ['a relative address', ['Content-Location: logo.png'], '<img src="logo.png">', 'logo.png'],
    ['an address in a folder', ['Content-Location: img/logo.png'], '<img src="img/logo.png">', 'img/logo.png'],
    [
      'an absolute address',
      ['Content-Location: https://x.org/a.png'],
      '<img src="https://x.org/a.png">',
      'https://x.org/a.png',
    ],
    [
      'an address that is folded',
      ['Content-Location: https://x.org/', ' a.png'],
      '<img src="https://x.org/a.png">',
      'https://x.org/a.png',
    ],
    [
      'an address of another scheme',
      ['Content-Location: file:///C:/a.png'],
      '<img src="file:///C:/a.png">',
      'file:///C:/a.png',
    ],
    ['an address and an id', ['Content-Location: logo.png', 'Content-ID: <a@b>'], '<img src="logo.png">', 'a@b'],
    ['two spellings of an address', ['Content-Location: ./logo.png'], '<img src="logo.png">', './logo.png'],
    ['its id', ['Content-ID: <a@b>'], '<img src="cid:a@b">', 'a@b'],
    ['its id in capitals', ['Content-ID: <a@b>'], '<img src="CID:A@B">', 'A@B'],
    ['its id with escapes', ['Content-ID: <a b@c>'], '<img src="cid:a%20b@c">', 'a b@c'],
  ])('under %s', async (_, fields, html, id) => {
    const { body_html, attachments } = await parseMail(related([], fields, html))
    expect(body_html).toContain(`<img data-src="cid:${encodeURIComponent(id)}"`)
    expect(attachments[0]!.content_id?.toLowerCase()).toBe(id.toLowerCase())
  })

  test.each([
    ['the page’s own', 'Content-Location: https://x.org/mail/index.html', 'https://x.org/mail/logo.png'],
    ['the page’s own, without a path', 'Content-Location: https://x.org', 'https://x.org/logo.png'],
    ['one that is none', 'Content-Location: ::', 'logo.png'],
  ])('under an address that is relative to %s', async (_, location, address) => {
    const { body_html } = await parseMail(related([location], [`Content-Location: ${address}`], '<img src="logo.png">'))
    expect(body_html).toContain(`<img data-src="cid:${encodeURIComponent(address)}"`)
  })

  test.each([
    ['a cell', '<table><tr><td background="cid:a@b">x</td></tr></table>', '<td>IMAGEx</td>'],
    ['a cell without quotes', '<table><tr><td background=cid:a@b>x</td></tr></table>', '<td>IMAGEx</td>'],
    ['a table', '<div><table background="CID:a@b"><tr><td>x</td></tr></table></div>', '<div>IMAGE<table>'],
    ['the page', '<body background="cid:a@b"><p>x</p></body>', 'IMAGE<p>x</p>'],
    ['a style', '<div style="background: #fff url(\'cid:a@b\') no-repeat">x</div>', '>IMAGEx</div>'],
    ['a style with escapes', '<div style="background-image:url(&quot;cid:a@b&quot;)">x</div>', '>IMAGEx</div>'],
    ['a style in other quotes', "<div style='background:url(cid:a@b)'>x</div>", '>IMAGEx</div>'],
    ['an address', '<div><p background="logo.png">x</p></div>', '<p>IMAGEx</p>'],
  ])('as the background of %s', async (_, html, expected) => {
    const fields = ['Content-Location: logo.png', 'Content-ID: <a@b>']
    const image = '<img data-src="cid:a%40b" referrerpolicy="no-referrer" loading="lazy" />'
    expect((await parseMail(related([], fields, html))).body_html).toContain(expected.replace('IMAGE', image))
  })

  test('once, however many cells have it as their background', async () => {
    const cells = '<td background="cid:a@b">x</td>'.repeat(50)
    const { body_html } = await parseMail(related([], ['Content-ID: <a@b>'], `<table><tr>${cells}</tr></table>`))
    expect(body_html.match(/<img /g)).toHaveLength(1)
  })
})

test.each([
  ['a background from elsewhere', '<td background="https://x.org/a.png">x</td>'],
  ['a style from elsewhere', '<td style="background:url(https://x.org/a.png)">x</td>'],
  ['an address that no file has', '<img src="other.png">x'],
  ['a script as a background', '<td background="javascript:alert(1)">x</td>'],
  ['a word', '<td>The background="cid:a@b" of it</td>'],
])('nothing is made of %s', async (_, html) => {
  const { body_html } = await parseMail(related([], ['Content-ID: <a@b>', 'Content-Location: logo.png'], html))
  expect(body_html).not.toContain('<img')
})

test('a file that only its address names is called by it', async () => {
  const names = ['img/logo.png', 'https://x.org/a/b.png?c=d', 'https://x.org/a']
  const files = await Promise.all(names.map((name) => parseMail(related([], [`Content-Location: ${name}`], 'x'))))
  expect(files.map(({ attachments }) => attachments[0]!.filename)).toEqual(['logo.png', 'b.png', 'a.png'])
})

function related(page: string[], picture: string[], html: string): Buffer {
  const type = 'Content-Type: multipart/related; boundary=b'
  const parts = [
    ['--b', 'Content-Type: text/html; charset=utf-8', ...page, '', html],
    ['--b', ...PICTURE, ...picture, '', 'iVBORw0KGgo='],
  ]
  return Buffer.from(['From: ann@x.org', type, '', ...parts.flat(), '--b--'].join('\r\n'))
}
