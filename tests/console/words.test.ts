/** The texts of the page: each language has all of them, with the same values. The type check finds what is missing. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { joined, toHtml } from '../../src/console/page/inbox/text-format'
import { t } from '../../src/console/page/words/catalogue'
import { english } from '../../src/console/page/words/english'
import { german } from '../../src/console/page/words/german'

const valuesOf = (entry: unknown) => [...new Set(JSON.stringify(entry).match(/\{\w+\}/g) ?? [])].sort()

test('a German text names the values of the English one', () => {
  const wrong = Object.entries(english).filter(
    ([key, text]) => valuesOf(german[key as keyof typeof german]).join() !== valuesOf(text).join(),
  )
  expect(wrong.map(([key]) => key)).toEqual([])
  expect(Object.keys(german).sort()).toEqual(Object.keys(english).sort())
})

test('a text has its values, and the form of its count', () => {
  expect(t('ticket.named', { ticket: 'A-1' })).toBe('Ticket A-1')
  expect(t('inbox.changed', { count: 1 })).toBe('1 ticket is changed.')
  expect(t('inbox.changed', { count: 2 })).toBe('2 tickets are changed.')
})

test('a text becomes HTML where it meets HTML, and says the same', () => {
  expect(toHtml('a < b\nc\n\nd')).toBe('<p>a &lt; b<br>c</p><p>d</p>')
  const words = (text: string) => ({ text, format: 'text' as const })
  const page = (text: string) => ({ text, format: 'html' as const })
  expect(joined(words('a'), words('<b>'))).toEqual(words('a\n\n<b>'))
  expect(joined(page('<p>a</p>'), words('b & c'))).toEqual(page('<p>a</p><p>b &amp; c</p>'))
  expect(joined(words('a<b>c'), page('<p>d</p>'))).toEqual(page('<p>a&lt;b&gt;c</p><p>d</p>'))
  expect(joined(words(' '), page('<p>b</p>'))).toEqual(page('<p>b</p>'))
})

test('no text stands in a component, where no other language has it', async () => {
  const page = new URL('../../src/console/page/', import.meta.url).pathname
  const found: string[] = []
  for await (const file of new Glob('**/*.tsx').scan(page)) {
    const source = await Bun.file(page + file).text()
    const texts = source.matchAll(/<\/?[a-zA-Z][^<>]*>\s*([A-Za-z][^<>{}()=;]*?)\s*(?:<|\{)/g)
    const words = [...texts].map(([, text]) => text!).filter((text) => !/^(case|const|return)\b/.test(text))
    found.push(...words.map((text) => `${file}: ${text}`))
  }
  // Names, which are the same in every language.
  expect(found.sort()).toEqual(['shell.tsx: Deskwire', 'sign-in-page.tsx: API', 'sign-in-page.tsx: Deskwire'])
})
