/** Message bodies: the HTML that reaches a page, and their plain text. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  dropUnknownImages,
  embedImages,
  htmlToText,
  renderBody,
  sanitizeEmailHtml,
  showsNothing,
  textToHtml,
} from '../../../src/base/html/body'
import { placeImages, viewHtml } from '../../../src/base/html/view'
import { tries } from '../../support/sampled'

const LINK = 'rel="noopener noreferrer nofollow" target="_blank"'
const ATTACHMENT = 'http://localhost:3000/api/v1/attachments/0197c3f1-0000-7000-8000-000000000000/content'

const inHtml = (html: string) => renderBody(html, 'html')
const sanitize = (html: string) => dropUnknownImages(sanitizeEmailHtml(html))

describe('plain text', () => {
  test.each([
    ['a < b & "c"', 'a &lt; b &amp; &quot;c&quot;'],
    ['one\r\ntwo\n\nthree', 'one<br>\ntwo<br>\n<br>\nthree'],
    [
      'see https://x.org/a?b=1&c=2.',
      `see <a href="https://x.org/a?b=1&amp;c=2" ${LINK}>https://x.org/a?b=1&amp;c=2</a>.`,
    ],
    ['write to ann@x.org', `write to <a href="mailto:ann@x.org" ${LINK}>ann@x.org</a>`],
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ['Ann <ann@x.org> and a <b c', `Ann &lt;<a href="mailto:ann@x.org" ${LINK}>ann@x.org</a>&gt; and a &lt;b c`],
    ['javascript://x.org/%0aalert(1)', 'javascript://x.org/%0aalert(1)'],
  ])('%p is escaped, its line breaks kept, its links made', (body, expected) => {
    expect(renderBody(body)).toEqual({ format: 'text', body_html: expected, text: body.replaceAll('\r\n', '\n') })
  })
})

describe('HTML', () => {
  test.each([
    ['a script', '<p>a</p><script>alert(1)</script>', '<p>a</p>'],
    ['a style element', '<style>p{display:none}</style><p>a</p>', '<p>a</p>'],
    ['an event handler', '<p onclick="alert(1)">a</p>', '<p>a</p>'],
    ['a form', '<form action="/x"><input name="a"><b>a</b></form>', '<b>a</b>'],
    ['a frame', '<p>a</p><iframe src="https://x.org">b</iframe>', '<p>a</p>'],
    ['a script address', '<a href="javascript:alert(1)">a</a>', '<a>a</a>'],
    ['an encoded script address', '<a href="java&#10;script:alert(1)">a</a>', '<a>a</a>'],
    ['a relative address', '<a href="/logout">a</a>', '<a>a</a>'],
    ['an address without scheme', '<a href="//evil.org">a</a>', '<a>a</a>'],
    ['an overlay', '<p style="position:fixed;z-index:9;top:0;color:red">a</p>', '<p style="color:red">a</p>'],
    ['hidden text', '<p style="display:none;visibility:hidden;opacity:0;font-size:0;width:0px">a</p>', '<p>a</p>'],
    ['a moved box', '<p style="margin:-9px;text-indent:-9999px;padding:2px">a</p>', '<p style="padding:2px">a</p>'],
    [
      'a loading style',
      '<p style="background:url(https://x.org);background-color:#fff">a</p>',
      '<p style="background-color:#fff">a</p>',
    ],
    [
      'all but the colour of a short background',
      '<p style="color:#fff;background:#0b5ed7 url(https://x.org)">a</p>',
      '<p style="color:#fff;background-color:#0b5ed7">a</p>',
    ],
    ['an id', '<p id="app" class="modal">a</p>', '<p>a</p>'],
    ['an SVG', '<svg><style><img src=x onerror=alert(1)></style></svg><p>a</p>', '<p>a</p>'],
    ['an open element', '<p><b>a', '<p><b>a</b></p>'],
  ])('%s does not reach the page', (_, html, expected) => {
    expect(inHtml(html).body_html).toBe(expected)
  })

  test.each([
    'color:transparent',
    'color:#fff0',
    'color:#ffffff00',
    'color:#0007',
    'color:rgba(0,0,0,0)',
    'color:rgba(0, 0, 0, .01)',
    'color:rgb(0 0 0 / 20%)',
    'color:hsla(0,0%,0%,0.1)',
    'color:Canvas',
    'color:#fff;background-color:#fff',
    'background-color:white;color:#FFFFFF',
    'background-color:rgb(255,255,255);color:#fefefe',
    'color:hsl(0,0%,100%);background-color:#fff;font-weight:bold',
  ])('text cannot be hidden by %p', (style) => {
    const { body_html } = inHtml(`<p style="${style}">a</p>`)
    expect(body_html).not.toMatch(/[";]color:/)
    expect(body_html).not.toMatch(/style=""|;"|";/)
    expect(body_html).toEndWith('>a</p>')
  })

  test('text cannot have the colour of its cell', () => {
    const html = (color: string) => `<table><tr><td bgcolor="#fff" style="color:${color}">a</td></tr></table>`
    expect(inHtml(html('white')).body_html).toBe('<table><tr><td bgcolor="#fff">a</td></tr></table>')
    expect(inHtml(html('red')).body_html).toBe(html('red'))
  })

  test.each([
    'color:#333',
    'color:rgba(0, 0, 0, 0.87)',
    'color:#000c',
    'color:inherit',
    'color:windowtext',
    'color:rgb(10, 20, 30)',
    'color:#fff;background-color:#000',
    'background-color:transparent;color:red',
    'background-color:#fff',
  ])('text may have %p', (style) => {
    const { body_html } = inHtml(`<p style="${style}">a</p>`)
    expect(body_html).toBe(`<p style="${style}">a</p>`)
  })

  test('words that look like a style are no style', () => {
    const text = 'style="color:#fff;background-color:#fff"'
    expect(inHtml(`<p>${text}</p>`).body_html).toContain(text)
  })

  test.each([
    ['noscript', '<noscript><p>Order <b>5</b></p></noscript>', '<p>Order <b>5</b></p>'],
    ['noscript around a picture', '<noscript><img src="https://x.org/a.png" alt="a"></noscript>b', 'ab'],
    ['noscript that never ends', '<noscript><p>Order 5</p>', '<p>Order 5</p>'],
    ['an object', '<object data="a.swf"><param name="a"><p>Order 5</p></object>', '<p>Order 5</p>'],
    ['an object within an object', '<object><object><p>Order 5</p></object></object>', '<p>Order 5</p>'],
    ['an object that never ends', '<object type="image/svg+xml"><p>Order 5</p>', '<p>Order 5</p>'],
    ['an SVG that never ends', '<svg width="1"><p>Order 5</p>', '<p>Order 5</p>'],
    ['an SVG that ends in its tag', '<svg width="1"/><p>Order 5</p><svg></svg>', '<p>Order 5</p>'],
    ['an SVG that never ends before one that does', '<svg><p>Order 5</p><svg><text>a</text></svg>', '<p>Order 5</p>'],
    ['an SVG in capitals that never ends', '<SVG><P>Order 5</P>', '<p>Order 5</p>'],
    ['a formula that never ends', '<math><p>Order 5</p>', '<p>Order 5</p>'],
  ])('text within %s is shown', (_, html, expected) => {
    const shown = sanitizeEmailHtml(html)
    expect(expected.startsWith('<') ? shown : htmlToText(html)).toBe(expected)
    expect(htmlToText(html)).toBe(expected.replace(/<[^>]*>/g, ''))
  })

  test.each([
    ['an SVG', '<svg><text>a</text><style>b</style></svg><p>c</p>'],
    ['an SVG within an SVG', '<svg><svg><text>a</text></svg>b</svg><p>c</p>'],
    ['an SVG before another', '<svg>a</svg><p>c</p><svg>b</svg>'],
    ['a formula', '<math><mi>a</mi></math><p>c</p>'],
    ['a style that never ends', '<p>c</p><style>p{color:red}'],
    ['a script that never ends', '<p>c</p><script>alert(1)'],
  ])('text within %s is not', (_, html) => {
    expect(sanitizeEmailHtml(html)).toBe('<p>c</p>')
  })

  test('links open elsewhere and tell nothing', () => {
    const { body_html } = inHtml('<a href="https://x.org" target="_top" rel="opener">a</a>')
    expect(body_html).toBe(`<a href="https://x.org" ${LINK}>a</a>`)
  })

  test.each([
    ['data:image/png;base64,AA==', 'src'],
    [`${ATTACHMENT}?signature=a-b_c&amp;expires=1`, 'data-src'],
    ['https://x.org/a.png', 'src'],
    ['HTTPS://x.org/a.png', 'src'],
    ['http://x.org/a.png', 'data-src'],
    ['cid:a@b', 'data-src'],
    ['data:image/svg+xml;base64,AA==', null],
    ['data:text/html;base64,AA==', null],
    ['/api/v1/auth/logout', null],
    ['//x.org/a.png', null],
    ['javascript:alert(1)', null],
  ])('the address of an image at %p is in %p', (src, attribute) => {
    const image = `<img ${attribute}="${src}" referrerpolicy="no-referrer" loading="lazy" />`
    const expected = `<p>a</p>${attribute ? image : ''}`
    expect(inHtml(`<p>a</p><img src="${src}" onerror="x">`).body_html).toBe(expected)
    expect(inHtml(`<p>a</p><img data-src="${src}">`).body_html).toBe(
      /^https/i.test(src) ? expected.replace('<img src', '<img data-src') : expected,
    )
  })

  test.each(['https://x.org/a.png', 'http://x.org/a.png', 'cid:a%40b'])(
    'the address of an image of an email at %p is in data-src',
    (src) => {
      const image = `<img data-src="${src}" referrerpolicy="no-referrer" loading="lazy" />`
      expect(sanitizeEmailHtml(`<img src="${src}">`)).toBe(image)
      expect(sanitizeEmailHtml(`<img data-src="${src}">`)).toBe(image)
      expect(sanitizeEmailHtml(`<img src=" ${src} " data-src="https://other.example/b.png">`)).toBe(image)
    },
  )

  test('an image that waits still waits when what holds it is quoted in an answer', () => {
    const mailed = sanitizeEmailHtml('<p>a</p><img src="https://tracker.example/a.gif">')
    const quoted = viewHtml(inHtml(`<blockquote>${mailed}</blockquote>`).body_html, () => undefined, 'as written')
    expect(quoted).toContain('<img data-src="https://tracker.example/a.gif"')
  })

  test('an image within an email points to its attachment, or goes', () => {
    const html = '<img src="cid:a%40b"><img src="CID:unknown"> data-src="cid:a@b"'
    const safe = sanitizeEmailHtml(html)
    expect(dropUnknownImages(embedImages(safe, (id) => (id === 'a@b' ? ATTACHMENT : undefined)))).toBe(
      `<img data-src="${ATTACHMENT}" referrerpolicy="no-referrer" loading="lazy" /> data-src="cid:a@b"`,
    )
  })

  test('of very many addresses in a text the first become links', () => {
    const text = 'a@b.de '.repeat(6000)
    expect(textToHtml(text).match(/<a href/g)).toHaveLength(5000)
    expect(textToHtml(text).replace(/<[^>]*>/g, '')).toBe(text)
  })

  test('what is safe stays as it is when it is sanitized again', () => {
    const piece = fc.constantFrom(
      ...[
        '<p>',
        '</p>',
        '<b',
        '>',
        '<',
        '&',
        '&lt;',
        '&amp;lt;',
        '"',
        "'",
        '<a href="https://x.org/?a=1&b=2">',
        '</a>',
      ],
      ...[
        '<img src="https://x.org/a.png" alt="<b>">',
        '<td>',
        '<table>',
        '<ul><li>',
        '<style>',
        '</style>',
        '<!--',
        '-->',
      ],
      ...[
        '<svg>',
        '<math>',
        '<script>',
        '</script>',
        '<textarea>',
        '<p style="color:red;margin:1px',
        '">',
        '\u00a0',
        '<br/>',
      ],
      ...['text', ' ', '\n', '<title>', '<noscript>', '<![CDATA[', ']]>', '<?x', '=', 'onerror=x', '<font color=red>'],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const once = sanitize(pieces.join(''))
        expect(sanitize(once)).toBe(once)
        expect(once).not.toMatch(/<(?!\/?[a-z][a-z0-9]*(?: [a-z-]+="[^"<>]*")*(?: \/)?>)/)
        expect(once).not.toMatch(/<(?:script|style|svg|math|textarea|title)|<[^>]* on/i)
      }),
      { numRuns: tries(700) },
    )
  })
})

describe('HTML in a page', () => {
  const urlOf = (id: string) => (ATTACHMENT.includes(id) ? 'https://desk.example/a?b=1&c=2' : undefined)
  const REMOTE = '<img data-src="https://x.org/a.png" alt="a" />'
  const HELD = '<img src="data:image/png;base64,AA==" />'

  test.each([
    ['an attachment', `<img data-src="${ATTACHMENT}?old=1" alt="a" />`],
    ['an attachment, as it was stored once', `<img src="${ATTACHMENT}" alt="a" />`],
  ])('shows an image that is %s', (_, html) => {
    const shown = '<img src="https://desk.example/a?b=1&amp;c=2" alt="a" />'
    for (const remote of ['wait', 'as written'] as const) {
      expect(viewHtml(html, urlOf, remote)).toContain(shown)
      expect(viewHtml(html, () => undefined, remote)).not.toContain(' src=')
    }
    expect(placeImages(html, urlOf, 'load')).toBe(shown)
  })

  test('loads no other image, unlike in an email', () => {
    const elsewhere = `<img src="https://evil.example/api/v1/attachments/${crypto.randomUUID()}/content" />`
    expect(viewHtml(REMOTE + HELD + elsewhere, urlOf, 'wait')).toContain(
      REMOTE + HELD + elsewhere.replace('<img src', '<img data-src'),
    )
    expect(placeImages(REMOTE + HELD, urlOf, 'load')).toBe(REMOTE.replace('data-src', 'src') + HELD)
  })

  test.each([
    [REMOTE, REMOTE],
    ['<img src="https://x.org/a.png" />', '<img src="https://x.org/a.png" />'],
    ['<img src="http://x.org/a.png" />', '<img data-src="http://x.org/a.png" />'],
    ['<img src="cid:a" />', '<img data-src="cid:a" />'],
  ])('what the team wrote loads https images that it does not let wait: %p', (html, expected) => {
    expect(viewHtml(html, urlOf, 'as written')).toContain(expected)
    expect(viewHtml(html, urlOf, 'wait')).not.toContain(' src=')
  })

  test.each([
    ['Hello<br>\nyou', false],
    [`<p>a <b>b</b></p><p><a href="https://x.org" ${LINK}>c</a></p>`, false],
    ['<p style="width:900px">a</p>', true],
    ['<p align="right">a</p>', true],
    ['<table><tr><td>a</td></tr></table>', true],
    ['<pre>a</pre>', true],
    ['<ul><li>a</li></ul>', true],
    [HELD, true],
    [`a ${'x'.repeat(40)}`, true],
    [`<a href="https://x.org/${'x'.repeat(40)}" ${LINK}>${'x'.repeat(39)}</a>`, false],
  ])('%p may stick out of its place and is in a box: %p', (html, expected) => {
    const box = '<div style="overflow: auto; overflow-wrap: break-word">'
    expect(viewHtml(html, urlOf, 'wait')).toBe(expected ? `${box}${html}</div>` : html)
  })
})

describe('HTML as text', () => {
  test.each([
    ['<h1>Title</h1><p>a&nbsp;b<br>c</p>', 'Title\n\na b\nc'],
    ['<div>a</div><div><br></div><div><div>b</div></div>c', 'a\n\nb\nc'],
    ['<ul><li>a<li>b<ol start="3"><li>c</ol></ul>', '* a\n* b\n  3. c'],
    ['<ul><li><p>a</p><p>b</p></li><li>c<br>d</li></ul>e', '* a\n\n  b\n\n* c\n  d\n\ne'],
    ['<table><tr><th>a<th>b<tr><td>c<td>d</table>', 'a b\nc d'],
    [
      '<table><tr><td><p>Item</p></td><td><p>Price</p></td></tr><tr><td><p>Ink</p></td><td><p>9</p></td></tr></table>',
      'Item Price\n\nInk 9',
    ],
    ['<table><tr><td><h1>a</h1></td></tr><tr><td><p>b</p></td></tr></table>', 'a\n\nb'],
    ['<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>', 'a\n\nb\n\nc'],
    ['<table><tr><td>a</td><td><table><tr><td>b<td>c<tr><td>d</table></td><td>e</td></tr></table>', 'a b c\nd\n\ne'],
    ['<p>before</p><blockquote>quoted<p>more</p></blockquote><p>behind</p>', 'before\n\n> quoted\n>\n> more\n\nbehind'],
    ['<blockquote>a<blockquote>b</blockquote>c</blockquote>', '> a\n>\n> > b\n>\n> c'],
    ['<a href="https://x.org/">x.org</a> <a href="https://y.org/a">here</a>', 'x.org here <https://y.org/a>'],
    ['<a href="mailto:ann@x.org?subject=a">Ann</a> <a href="mailto:b@x.org">b@x.org</a>', 'Ann <ann@x.org> b@x.org'],
    ['<a href="tel:+49123">call</a> <a href="javascript:x">no</a>', 'call <+49123> no'],
    ['<pre>a\n  b</pre>', 'a\n  b'],
    ['<div style="white-space: pre-wrap">a  b\n<b>c</b>\n d</div> e  f', 'a  b\nc\n d\ne f'],
    ['a <b>bold</b>, <i>italic</i>word <img src="https://x.org/a.png" alt="Logo">', 'a bold, italicword Logo'],
    ['<title>t</title><style>s{}</style><script>x</script><p>1 &lt; 2 &amp;amp; 3</p>', '1 < 2 &amp; 3'],
    ['<p>&euro;&nbsp;3 &mdash; &#x1F600; &auml;&bogus; so&shy;ft</p>', '€ 3 — 😀 ä&bogus; soft'],
    [
      '<!--[if mso]><p>old</p><![endif]--><!--[if !mso]><!--><p>a</p><!--<![endif]--><![if !mso]><b>b</b><![endif]>' +
        '<p class=MsoNormal>c<o:p>&nbsp;</o:p></p>',
      'a\n\nb\n\nc',
    ],
    [
      `<div style="display:none;max-height:0">Invoice${'&nbsp;&zwnj;&#847;&#8199;&#65279;'.repeat(90)}</div><p>Dear Ann</p>`,
      'Dear Ann',
    ],
  ])('%p reads well', (html, expected) => {
    expect(htmlToText(html)).toBe(expected)
  })
})

test.each([
  ['', true],
  [' \r\n\t\u00a0\u200b\ufeff', true],
  ['&nbsp; &#160;', true],
  ['<p>&nbsp;</p><br>\u200b', true],
  ['<img>', true],
  ['<img src="javascript:x">', true],
  ['<p><script>a</script></p>', true],
  ['<img src="cid:a">', false],
  ['<p>.</p>', false],
  ['<', false],
  ['\u{1F600}', false],
])('%p is blank: %p', (body, expected) => {
  expect(showsNothing(inHtml(body))).toBe(expected)
})

test.each([
  ['open brackets', '<'],
  ['ampersands', '&'],
  ['elements', '<b>'],
  ['divisions', '<div>'],
  ['lists', '<ul><li>'],
  ['quotes', '<blockquote>x<br>'],
  ['links within links', '<a href="https://x.org">'],
  ['tables within tables', '<table><tr><td>'],
  ['comments', '<!--'],
  ['broken attributes', '<p title="'],
  ['URLs', 'http://a.b/c?d='],
  ['labels', 'xn--a.'],
  ['mail addresses', 'a@'],
  ['brackets behind a scheme', 'x://((('],
  ['images', '<img src="https://x.org/a.png">'],
  ['styles', '<p style="color:red;margin:1px">x</p>'],
  ['declarations', `<p style="${'color:red;'.repeat(1000)}">`],
  ['unclosed styles', '<p style="/*'],
  ['foreign elements', '<svg><math><mtext><style><!--</style>'],
  ['cells', '<td>x'],
  ['characters that show nothing', '\u200c '],
  ['rows within items', '<tr><li>x'],
  ['items within definitions', '<li><dd>x'],
  ['end tags in comments', '<b>x<!--</b>-->'],
  ['end tags in attributes', '<i title="</i>">x'],
  ['braces in styles', '<b style="}">x</b>'],
])('a body of a million characters of %s is rendered', (_, piece) => {
  const body = piece.repeat(1_000_000 / piece.length)
  const { body_html } = inHtml(body)
  expect(body_html.length).toBeLessThan(10_000_000)
  expect(viewHtml(body_html, () => undefined, 'as written').length).toBeLessThan(10_000_000)
})

test.each([
  ['200 declarations in an attribute', 200, 1],
  ['200 attributes', 1, 200],
  ['500 declarations in an attribute', 500, 1],
  ['10000 declarations in a body', 5, 2000],
])('a body with %s keeps its styles', (_, declarations, elements) => {
  const { body_html } = inHtml(`<p style="${'color:red;'.repeat(declarations)}">x</p>`.repeat(elements))
  const style = Array(declarations).fill('color:red').join(';')
  expect(body_html).toBe(`<p style="${style}">x</p>`.repeat(elements))
})

test('an attribute of more than 500 declarations is dropped, and others stay', () => {
  const { body_html, text } = inHtml(`<p style="${'color:red;'.repeat(501)}" dir="rtl">x</p><p style="color:red">y</p>`)
  expect(body_html).toBe('<p dir="rtl">x</p><p style="color:red">y</p>')
  expect(text).toBe('x\n\ny')
})

test('styles behind the first 10000 declarations of a body are dropped, their elements stay', () => {
  const { body_html } = inHtml('<p style="color:red;margin:0">x</p>'.repeat(5001))
  expect(body_html).toBe(`${'<p style="color:red;margin:0">x</p>'.repeat(5000)}<p>x</p>`)
})

test.each([
  ['tables', '<table><tr><td>x', '</td></tr></table>'],
  ['rows within items', '<tr><li>x', '</li></tr>'],
  ['items within definitions', '<li><dd>x', '</dd></li>'],
  ['quotes', '<blockquote>x', '</blockquote>'],
])('%s deeper than 200 elements are flattened, and their text stays', (_, start, end) => {
  const { body_html, text } = inHtml(`${start.repeat(1000)}${end.repeat(1000)}<h1>y</h1>`)
  expect(greatestDepth(body_html)).toBeLessThanOrEqual(200)
  expect(text.match(/x/g)).toHaveLength(1000)
  expect(body_html).toEndWith('<h1>y</h1>')
})

test('items and cells without end tags are no deeper than their list or row', () => {
  const list = `<ul>${'<li>x'.repeat(1000)}</ul>`
  const table = `<table>${'<tr><td>x<td>y'.repeat(1000)}</table>`
  const { body_html } = inHtml(list + table)
  expect(body_html).toBe(
    `<ul>${'<li>x</li>'.repeat(1000)}</ul><table>${'<tr><td>x</td><td>y</td></tr>'.repeat(1000)}</table>`,
  )
})

test.each([
  ['comments', '<b>x<!--</b>-->'],
  ['attributes', '<b title="</b>">x'],
  ['scripts', '<b>x<script></b></script>'],
])('a body that hides thousands of end tags in %s is its text', (_, piece) => {
  const { body_html, text } = inHtml(piece.repeat(3000))
  expect(body_html).not.toContain('<')
  expect(text.match(/x/g)).toHaveLength(3000)
})

function greatestDepth(html: string): number {
  let depth = 0
  return Math.max(...[...html.matchAll(/<(\/?)[a-z]/g)].map(([, slash]) => (depth += slash ? -1 : 1)))
}
