/** The end of a long HTML mail becomes text, and nothing of its words, links and own images is lost. */
import { expect, test } from 'bun:test'
import { sanitizeEmailHtml } from '../../../src/base/html/body'
import { safeHtmlToText } from '../../../src/base/html/text'

/** 120 kB that are rendered, then more. */
const LONG = Array.from({ length: 2000 }, (_, n) => `<p><b>Line ${n} of a long letter with many words</b></p>`).join('')

/** The text behind the elements of LONG that are rendered. */
function endOf(html: string): string {
  const shown = sanitizeEmailHtml(LONG + html)
  expect(shown).toStartWith('<p><b>Line 0 of')
  return shown.slice(shown.lastIndexOf('</p>') + 4)
}

test('every line is there once, in order, in the HTML and in the text', () => {
  const shown = sanitizeEmailHtml(LONG)
  expect(shown).toEndWith('Line 1999 of a long letter with many words</div>')
  const numbers = Array.from({ length: 2000 }, (_, n) => String(n))
  for (const text of [shown, safeHtmlToText(shown)]) expect([...(text.match(/(?<=Line )\d+/g) ?? [])]).toEqual(numbers)
})

test.each([
  ['cells of a row', '<table><tr><td>a<td>b</tr><tr><td>c</table>', 'a b\n\nc'],
  ['line breaks', 'a<br>b<hr>c', 'a\nb\n\nc'],
  ['entities, escaped again', '<p>&lt;b&gt; caf&eacute; &amp;</p>', '&lt;b&gt; café &amp;'],
  [
    'the addresses of links',
    '<a href="https://x.example/?a=1&amp;b">here</a>',
    'here &lt;https://x.example/?a=1&amp;b&gt;',
  ],
  ['no address that is shown', '<a href="mailto:a@x.example">a@x.example</a>', 'a@x.example'],
  ['no other address', '<a href="javascript:alert(1)">x</a>', 'x'],
  ['words for images from elsewhere', '<img src="https://x.example/a.png" alt="A cat">', 'A cat'],
  ['no scripts, styles and comments', '<script>x</script><style>y</style><!-- z -->a<title>t</title>', 'a'],
])('the end has %s', (_, html, text) => {
  expect(endOf(`<p>${html}`)).toEndWith(`many words\n\n${text}</div>`)
})

test.each([
  ['an attached image', '<p>x<img src="cid:1">'],
  ['an image in the HTML', '<p>x<img alt="" src="data:image/png;base64,AAAA">'],
  ['an attached background', '<p>x<td background="cid:1">'],
])('%s at the end is shown, and all is rendered', (_, html) => {
  const shown = sanitizeEmailHtml(LONG + html)
  expect(shown).toContain('Line 1999 of a long letter with many words</b></p>')
  expect(shown).toMatch(/<img (?:data-)?src="(?:cid|data):/)
})

test('an image that the mail holds under another address is shown', () => {
  const shown = sanitizeEmailHtml(`${LONG}<p>x<img src="cat.png">`, (address) => (address === 'cat.png' ? 'cat' : null))
  expect(shown).toContain('<img data-src="cid:cat"')
})

test.each(['<!--', '<style>', '<script>', '<SVG>'])('the end does not begin within %s', (start) => {
  const shown = sanitizeEmailHtml(`<p>a</p>${start}${LONG}`)
  expect(shown).not.toContain('pre-wrap')
})

test.each([
  ['open elements', '<b>'],
  ['end tags in comments', '<b>x<!--</b>-->'],
  ['images', '<img alt="x">'],
  ['blanks', ' '],
  ['links', '<a href="https://x.example">x</a>'],
])('a million characters of %s are read in linear time', (_, piece) => {
  expect(endOf(`<p>${piece.repeat(900_000 / piece.length)}`).length).toBeLessThan(2_000_000)
})
