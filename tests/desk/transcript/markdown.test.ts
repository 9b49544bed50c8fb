/** The form of a transcript: whatever people write, their words and the service's own lines can be told apart. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { beginningOf, entryOf as cutEntryOf, oneLine, type Told } from '../../../src/desk/transcript/markdown'
import { tries } from '../../support/sampled'

type Ticket = Parameters<typeof beginningOf>[0]

const entryOf = (told: Told, most = Number.POSITIVE_INFINITY) => cutEntryOf(told, most).entry

/** Ends of lines to Unicode, to JavaScript, to Python and to those who take a lone carriage return for one. */
const BREAKS = ['\n', '\r', '\r\n', '\v', '\f', '\u001c', '\u001d', '\u001e', '\u0085', '\u2028', '\u2029']
const ENDS = /\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/

/** Signs of Markdown, of the frame, and of texts in quotes. */
const SIGNS = [
  ...[
    '> ',
    '>',
    '#',
    '## ',
    '# Ticket TKT-1: ',
    '```',
    '~~~',
    '---',
    '***',
    '- ',
    '* ',
    '1. ',
    '    ',
    '\t',
    '|',
    '<!--',
  ],
  ...[
    '-->',
    '[quotation]',
    '[the rest of this message is left out]',
    '"',
    '\\',
    '\\"',
    '", by email, proven',
    'team: ',
  ],
  ...['Files: ', '- Status: closed', '\u202e', '\u200b', '\ufeff', '\u{e0041}', '\u0000'],
]

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...BREAKS), fc.constantFrom(...SIGNS), fc.string({ unit: 'binary', maxLength: 5 })), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''))

const told: fc.Arbitrary<Told> = fc.record({
  created_at: fc.constant('2026-01-31T09:00:00Z'),
  is_internal: fc.boolean(),
  direction: fc.constantFrom('inbound' as const, 'outbound' as const),
  channel: fc.constantFrom('email' as const, 'api' as const, 'portal' as const),
  sender_name: hostile,
  sender_email: fc.option(hostile),
  sender_verified: fc.option(fc.boolean()),
  auto_reply: fc.boolean(),
  words: hostile,
  leaves_out: fc.boolean(),
  files: fc.array(hostile, { maxLength: 3 }),
})

/** The lines of the service, with nothing in the quotes. */
function frameOf(text: string): string[] {
  const lines = text.split(ENDS).filter((line) => !line.startsWith('> '))
  return lines.map((line) => line.replace(/"(?:[^"\\]|\\.)*"/g, '""'))
}

function namesIn(text: string): string[] {
  const lines = text.split(ENDS).filter((line) => !line.startsWith('> '))
  return lines.flatMap((line) => (line.match(/"(?:[^"\\]|\\.)*"/g) ?? []).map((name) => JSON.parse(name)))
}

describe('a message', () => {
  test('has the same frame whatever people wrote, and their words can be read out of it', () => {
    fc.assert(
      fc.property(told, (one) => {
        const text = entryOf(one)
        const harmless = { ...one, sender_name: 'x', sender_email: one.sender_email && 'x', words: one.words && 'x' }
        const empty = one.sender_email === '' ? { sender_email: '' } : {}
        expect(frameOf(text)).toEqual(frameOf(entryOf({ ...harmless, ...empty, files: one.files.map(() => 'x') })))
        const words = text.split(ENDS).filter((line) => line.startsWith('> '))
        expect(words.map((line) => line.slice(2))).toEqual(one.words === '' ? [] : one.words.split(ENDS))
        const email = one.sender_email === null ? [] : [one.sender_email]
        expect(namesIn(text)).toEqual([one.sender_name, ...email, ...one.files].map((name) => name.toWellFormed()))
      }),
      { numRuns: tries(2000) },
    )
  })

  test('is proven only by a sender that is, and what the team wrote is not judged', () => {
    const wordsOf = (more: Partial<Told>) => entryOf({ ...plain, ...more }).split('\n')[1]
    const begin = '## 2026-01-31T09:00:00Z '
    expect(wordsOf({ sender_verified: true })).toBe(`${begin}customer: "Carla" "c@x.example", by email, proven`)
    for (const sender_verified of [false, null]) {
      expect(wordsOf({ sender_verified })).toBe(`${begin}customer: "Carla" "c@x.example", by email, not proven`)
    }
    expect(wordsOf({ direction: 'outbound', sender_verified: true, channel: 'api' })).toBe(
      `${begin}team: "Carla" "c@x.example", by the API`,
    )
    expect(wordsOf({ is_internal: true, direction: null, sender_email: null })).toBe(
      `${begin}team, internal note: "Carla"`,
    )
    expect(wordsOf({ auto_reply: true, channel: 'portal', sender_verified: true })).toEndWith(
      "on the customers' page, automatic, proven",
    )
  })

  test('is cut at a number of bytes, with a line that says so', () => {
    fc.assert(
      fc.property(told, fc.integer({ min: 0, max: 600 }), (one, most) => {
        const text = entryOf(one, most)
        const least = Buffer.byteLength(entryOf({ ...one, words: '' })) + 60
        if (most >= least) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most)
        const words = text.split(ENDS).filter((line) => line.startsWith('> '))
        const whole = one.words === '' ? [] : one.words.split(ENDS)
        const is_cut = text.includes('\n[the rest of this message is left out]\n')
        if (!is_cut) expect(words).toHaveLength(whole.length)
        for (const [place, line] of words.entries()) expect(whole[place]!.toWellFormed()).toStartWith(line.slice(2))
      }),
      { numRuns: tries(1000) },
    )
  })
})

const plain: Told = {
  created_at: '2026-01-31T09:00:00Z',
  ...{ is_internal: false, direction: 'inbound', channel: 'email', sender_name: 'Carla', sender_email: 'c@x.example' },
  ...{ sender_verified: null, auto_reply: false, words: 'Help', leaves_out: false, files: [] },
}

test('the lines above the messages are the same whatever the names are', () => {
  fc.assert(
    fc.property(hostile, hostile, (one, other) => {
      const ticket = (name: string, more: string) =>
        ({
          ...{ code: 'TKT-1', subject: name, status: 'open', priority: 'normal', merged_into: null },
          ...{ contact: { id: 'x', name: more, email: name }, company: { id: 'x', name }, assignee: { id: 'x', name } },
          ...{ labels: [{ id: 'x', name, color: 'x' }], created_at: '2026-01-31T09:00:00Z' },
        }) as unknown as Ticket
      expect(frameOf(beginningOf(ticket(one, other)))).toEqual(frameOf(beginningOf(ticket('x', 'x'))))
    }),
  )
})

test('a name is one line of visible characters that JSON reads back', () => {
  fc.assert(
    fc.property(hostile, (name) => {
      expect(oneLine(name)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(JSON.parse(oneLine(name))).toBe(name)
    }),
  )
})
