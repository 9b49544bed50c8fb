/** The texts of the page: each language has all of them, with the same values. The type check finds what is missing. */
import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import { ERRORS } from '../../src/base/errors'
import { joined, toHtml } from '../../src/console/page/inbox/text-format'
import { refusalText, t } from '../../src/console/page/words/catalogue'
import { english } from '../../src/console/page/words/english'
import { faultsGerman } from '../../src/console/page/words/faults-german'
import { german } from '../../src/console/page/words/german'
import { refusalsEnglish } from '../../src/console/page/words/refusals-english'
import { refusalsGerman } from '../../src/console/page/words/refusals-german'

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

/** Words that begin what the API says about a field. */
const FAULT =
  /(['"`])((?:must|is|have|has|cannot|needs|names|leads|makes|can be|there may|an import has brought)\b(?:(?!\1).)* (?:(?!\1).)*)\1/g
/** Rooms that no field of the console leads to, and sentences for operators, for headers and for programs. */
const ELSEWHERE =
  /^(base\/(settings|db)|mail\/(inlets\/(payloads|form|take-mail)|smtp|parse|inbound|outbound|sender)|desk\/(portal|stats)|delivery\/events|people\/identity\/provider-sign-in)\b/
const OF_PROGRAMS = [
  ...['an import has taken a ticket number', 'is attached then; one that', 'must be that of the path'],
  ...[
    'is for people: an API key',
    'is required of an API key',
    'must be a user: an API key',
    'is required without filter',
  ],
  ...['must stand with', 'must be a next_cursor', 'is one too many: a key'],
  // A part of a sentence.
  'must be text of ${min',
  // Parts of SQL.
  ...['is null', 'is not null'],
  // Failures of webhooks have words of their own.
  ...['cannot be connected to', 'has a name that was not', 'has an address that may', 'has no valid certificate'],
]

test('every sentence of the API about a field has German words', async () => {
  const source = new URL('../../src/', import.meta.url).pathname
  const missing: string[] = []
  let known = 0
  for await (const file of new Glob('{base,delivery,desk,mail,people}/**/*.ts').scan(source)) {
    if (ELSEWHERE.test(file)) continue
    for (const [, , said] of (await Bun.file(source + file).text()).matchAll(FAULT)) {
      const sentence = said!.replace(/\$\{[^}]*\}/g, '7')
      if (OF_PROGRAMS.some((begin) => sentence.startsWith(begin)) || /^must be 7$/.test(sentence)) continue
      if (faultsGerman.some(([pattern]) => pattern.test(sentence))) known++
      else missing.push(`${file}: ${sentence}`)
    }
  }
  expect(missing).toEqual([])
  expect(known).toBeGreaterThan(100)
})

test('every refusal has words for a person, in both languages', () => {
  const codes = Object.keys(ERRORS) as (keyof typeof ERRORS)[]
  expect(codes.filter((code) => !refusalsGerman.codes[code])).toEqual([])
  // The English page shows the sentence of the API, unless it speaks to a program.
  const words = codes.map((code) => refusalsEnglish[code] ?? ERRORS[code][1])
  expect(words.filter((text) => /\b(token|request|resource|route|header|idempotency|body)\b/i.test(text))).toEqual([])
  expect(refusalText('IDEMPOTENCY_KEY_REUSED', 'The idempotency key was used')).toBe(
    'This was sent before, in another form',
  )
})

test('a thing has one German name, in the settings, in the log and in refusals', () => {
  const wrong = Object.entries({ sla_policy: 'policy', schedule: 'schedule', team: 'team', rule: 'rule' }).flatMap(
    ([logged, name]) => {
      const [thing] = german[`${name}.add` as 'team.add'].split(' ')
      const refusals = ['NOT_FOUND', 'NAME_EXISTS'].map((end) => `${logged.toUpperCase()}_${end}` as 'TEAM_NOT_FOUND')
      const log = german[`audit.${logged}.created` as 'audit.team.created']
      return [log, ...refusals.map((code) => refusalsGerman.codes[code] ?? '')].filter((text) => !text.includes(thing!))
    },
  )
  expect(wrong).toEqual([])
})
