/** Texts are compared in a time that their length alone tells. */
import { expect, test } from 'bun:test'
import { areWithin, isCopy } from '../../../src/mail/parse/same-text'

test.each([
  ['the same words in a row', 'valve '.repeat(3), '  valve\nvalve ', true],
  ['a part of a word', 'valves and pumps', 'valve', false],
  ['no words', 'valve', ' \n', false],
  ['words beyond ASCII', 'Zwölf Ventile, 漢字 und mehr', '漢字\r\nund', true],
])('a text is within another that has %s', (_, one, other, is_within) => {
  expect([areWithin(one, other), areWithin(other, one)]).toEqual([is_within, is_within])
})

test('three million characters of one word are searched for nearly as many', () => {
  // As texts within a text: 8 minutes.
  const [text, other] = ['a '.repeat(1_500_000), `${'a '.repeat(750_000)}b ${'a '.repeat(700_000)}`]
  expect(areWithin(text, other)).toBe(false)
  expect(isCopy({ text, may_have_more: true, sent: [`<p>${other}</p>`] })).toBe(false)
})
