/** The form of a text that nobody said, and texts that look like HTML. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { type RenderedBody, renderBody, sanitizeEmailHtml, showsNothing, textToHtml } from '../../../src/base/html/body'
import { formOf, formOfRow } from '../../../src/base/html/formats'
import { isTagName } from '../../../src/base/html/tag-names'
import { unescapeHtml } from '../../../src/base/html/text'
import { tries } from '../../support/sampled'

const TEXTS = [
  'Hello',
  '',
  'if a<b and c>d then stop the pump',
  'Use <b> for bold',
  'Use <b> for bold and <i> for italics',
  'Close it with </b>',
  'Ann <ann@x.example> wrote',
  'Ann <kim@x.example> wrote <b>this</b>: x<y',
  'See <https://x.example>',
  'List<String> names = new ArrayList<>()',
  'Map<K, V> entries',
  '<K, V>',
  'std::vector<int> v; if (v.size()<b)',
  'a < b && c > d',
  '1 <2 and 3> 2',
  'I <3 you',
  'x <- c(1, 2)',
  '<script>alert(1)</script>',
  '<form action="/x"><input name="a"></form>',
  '<input type="text">',
  '<!-- only a comment -->',
  '<!doctype html>',
  '<b>never closed',
  'closed</b> without a start',
  '<b>one</b> and <i>two',
  '<p>a</p> if x<y',
  '<p>a</p> <!-- never ends',
  '<p>a</p> <!important>',
  '<p>a</p> <![if !mso]>b<![endif]>',
  '<b/>',
  '<div/>',
  '<b class="x>y',
  '<b class=',
  '<b>a</b',
  'The tag <img> needs an </img',
  '<p>a</ p>',
  'Type <enter> and wait',
  '<string name="app">Desk</string>',
  'a<b>c',
]

const PAGES = [
  '<b>bold</b>',
  'Some <b>bold</b> and <i>italic</i> words',
  '<p>One<p>Two',
  '<p>One</p><p>Two</p>',
  'One<br>Two',
  'One<br/>Two',
  'One<BR />Two',
  '<img src="https://x.example/a.png">',
  '<hr>',
  '<ul><li>a<li>b</ul>',
  '<table><tr><td>a<td>b<tr><td>c</table>',
  '<a href="https://x.example/?a=1&b=2">x</a>',
  "<a href='https://x.example'>x</a>",
  '<a href=https://x.example/a/b>x</a>',
  '<B>loud</B >',
  '<b><i>crossed</b></i>',
  '<p title="a > b">c</p>',
  '<p title="<b">c</p>',
  '<!-- c --><p>a</p>',
  '<!DOCTYPE html><html><head><title>x</title></head><body><p>a</p></body></html>',
  '<p>a<o:p></o:p></p>',
  '<p>1 < 2</p>',
  '<div\nclass="a"\n>b</div>',
  '<form><p>a</p></form>',
  '<p>a</p><!---->',
]

describe('a body whose writer did not say its form', () => {
  test('is judged in sufficient variety', () => expect(TEXTS.length + PAGES.length).toBeGreaterThanOrEqual(60))
  test.each(TEXTS)('%j is text', (body) => expect(formOf(body)).toBe('text'))
  test.each(PAGES)('%j is HTML', (body) => expect(formOf(body)).toBe('html'))

  test.each(['<a', '<a ', '<a href="', '<b></b>', '<!--', '<!-- -->', '<p a=b ', '<', '<p>', 'a=', '" <b '])(
    'of a million characters of %j is judged in time',
    (unit) => {
      const started = performance.now()
      formOf(unit.repeat(Math.ceil(1_000_000 / unit.length)))
      expect(performance.now() - started).toBeLessThan(2000)
    },
  )
})

describe('HTML', () => {
  test.each([
    ['<p>Ann <kim@x.example></p>', '<p>Ann &lt;kim@x.example&gt;</p>', 'Ann <kim@x.example>'],
    ['<p>See <https://x.example></p>', '<p>See &lt;https://x.example&gt;</p>', 'See <https://x.example>'],
    ['<p>List<String> a</p>', '<p>List&lt;String&gt; a</p>', 'List<String> a'],
    ['<p>Map<K, V></p>', '<p>Map&lt;K, V&gt;</p>', 'Map<K, V>'],
    ['<p>a</string>b</p>', '<p>a&lt;/string&gt;b</p>', 'a</string>b'],
    ['<p>a<o:p>b</o:p></p>', '<p>ab</p>', 'ab'],
    ['<p>a<st1:place w:st="on">b</st1:place></p>', '<p>ab</p>', 'ab'],
    ['<p>a<nobr>b</nobr></p>', '<p>ab</p>', 'ab'],
    ['<p>a<b<p>c', '<p>a&lt;b</p><p>c</p>', 'a<b\n\nc'],
    ['<p title="<kim@x.example>">a</p>', '<p title="&lt;kim@x.example&gt;">a</p>', 'a'],
    ['<!-- <kim@x.example> --><p>a</p>', '<p>a</p>', 'a'],
    ['<style><kim></style><p>a</p>', '<p>a</p>', 'a'],
    ['<p>I </3 you</p>', '<p>I &lt;/3 you</p>', 'I </3 you'],
    ['<p>a </> b</ p></p>', '<p>a &lt;/&gt; b&lt;/ p&gt;</p>', 'a </> b</ p>'],
    ['<p>a</', '<p>a&lt;/</p>', 'a</'],
    ['<p><?php echo 1 ?></p>', '<p>&lt;?php echo 1 ?&gt;</p>', '<?php echo 1 ?>'],
    ['<p>a <!x> b</p>', '<p>a &lt;!x&gt; b</p>', 'a <!x> b'],
    ['<!DOCTYPE html><?xml:namespace prefix = o /><p>a<![if !mso]>b<![endif]></p>', '<p>ab</p>', 'ab'],
  ])('%j shows what looks like a tag and is called like no element', (html, body_html, text) => {
    expect(renderBody(html, 'html')).toEqual({ format: 'html', body_html, text })
    expect(sanitizeEmailHtml(html)).toBe(body_html)
  })

  test('a million characters that look like tags are shown in time', () => {
    const started = process.cpuUsage()
    for (const unit of ['<a<', '<x>']) renderBody(unit.repeat(333_333), 'html')
    renderBody(`<${'x'.repeat(999_999)}`, 'html')
    const { user, system } = process.cpuUsage(started)
    expect((user + system) / 1000).toBeLessThan(8000)
  })

  test('names are those of HTML, SVG and MathML', () => {
    const types = readFileSync(require.resolve('typescript-5/lib/lib.dom.d.ts'), 'utf8')
    const maps = [...types.matchAll(/^interface (?:HTML|SVG|MathML)Element(?:Deprecated)?TagNameMap \{([^}]*)\}/gm)]
    expect(maps.length).toBeGreaterThanOrEqual(4)
    const names = maps.flatMap(([, map]) => [...map!.matchAll(/^ {4}"([^"]+)":/gm)].map(([, name]) => name!))
    expect(names.length).toBeGreaterThan(200)
    expect(names.filter((name) => !isTagName(name))).toEqual([])
    const others = [
      'string',
      'k,',
      'kim@x.example',
      'https:',
      'x-y',
      'name',
      'int',
      't',
      'v',
      'enter',
      'key',
      'foo:bar',
    ]
    expect(others.filter(isTagName)).toEqual([])
  })
})

/** Strings of everything, often of what looks like HTML. */
const anything = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom('<b>', '</b>', '<', '>', '&', '&amp;', '&nbsp;', '"', "'", '<br>', '<!--', '-->', '<script>'),
        fc.constantFrom('a@x.example', 'https://x.example/?a=1&b=2', '\n', '\r\n', ' ', '\u00ad', '{{ticket.code}}'),
        fc.string({ maxLength: 8 }),
      ),
      { maxLength: 20 },
    )
    .map((parts) => parts.join('')),
)

const withoutBlanks = (text: string) => text.replace(/\s+/g, '')
const shownBy = (html: string) => unescapeHtml(html.replace(/<[^>]*>/g, ''))

describe('text', () => {
  test('shows exactly its characters, whatever they look like', () => {
    fc.assert(
      fc.property(anything, (body) => {
        const { format, body_html, text } = renderBody(body, 'text')
        expect(format).toBe('text')
        expect(withoutBlanks(shownBy(body_html))).toBe(withoutBlanks(body))
        expect(withoutBlanks(text)).toBe(withoutBlanks(body))
        expect(body_html.replace(/<br>\n|<a href="[^"<>]*" rel="[^"]*" target="_blank">|<\/a>/g, '')).not.toMatch(
          /[<>]/,
        )
      }),
      { numRuns: tries(2000) },
    )
  })

  test.each([
    ['<br>', false],
    ['&nbsp;', false],
    [' \n\u200b', true],
  ])('%j shows nothing: %p', (body, expected) => expect(showsNothing(renderBody(body, 'text'))).toBe(expected))
})

describe('a row of a release without formats', () => {
  const row = (body: string, { body_html }: Pick<RenderedBody, 'body_html'>) => ({ format: null, body, body_html })

  test.each(TEXTS)('of %j was text', (body) => {
    expect(formOfRow(row(body, { body_html: textToHtml(body) }))).toBe('text')
  })

  test.each([...PAGES, ...TEXTS.filter((text) => /<(?:b|p|i|div)[ >]/.test(text))])('of %j was HTML', (body) => {
    expect(formOfRow(row(body, renderBody(body, 'html')))).toBe('html')
  })

  test.each([
    ['See https://x.example or write to a@x.example', 'text'],
    ['<a href="https://x.example">https://x.example</a>', 'html'],
    ['One<br>two', 'html'],
  ] as const)('of %j was %s', (body, format) => {
    expect(formOfRow(row(body, renderBody(body, format)))).toBe(format)
  })

  test('says its form when it has one', () => {
    expect(formOfRow({ format: 'html', body: 'a', body_html: 'a' })).toBe('html')
  })
})
