import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { domainsOf, ownersOf, toDomain } from '../../../src/base/address/domains'

test.each([
  ['example.com', 'example.com'],
  ['Example.COM', 'example.com'],
  ['münchen.de', 'xn--mnchen-3ya.de'],
  ['MÜNCHEN.de', 'xn--mnchen-3ya.de'],
  ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  ['例え。jp', 'xn--r8jz45g.jp'],
  ['a.b.c.d.example.museum', 'a.b.c.d.example.museum'],
  ['3com.com', '3com.com'],
  [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  [`${'a'.repeat(64)}.com`, undefined],
  [`${'a.'.repeat(125)}com`, `${'a.'.repeat(125)}com`],
  [`${'a.'.repeat(126)}com`, undefined],
  ['', undefined],
  ['localhost', undefined],
  ['com', undefined],
  ['example.c', undefined],
  ['.example.com', undefined],
  ['example.com.', undefined],
  ['example..com', undefined],
  ['-example.com', undefined],
  ['example-.com', undefined],
  ['*.example.com', undefined],
  ['under_score.com', undefined],
  ['@example.com', undefined],
  ['a@example.com', undefined],
  ['https://example.com', undefined],
  ['example.com/path', undefined],
  ['example.com:443', undefined],
  ['example.com?x', undefined],
  ['exa mple.com', undefined],
  ['exa\tmple.com', undefined],
  ['exam%70le.com', undefined],
  ['1.2.3.4', undefined],
  ['0x7f.1', undefined],
  ['[::1]', undefined],
  ['xn--a.com', undefined],
])('%p is stored as the domain %p', (text, expected) => {
  expect(toDomain(text)).toBe(expected as string)
})

test('a domain that was accepted once is accepted again, unchanged', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.string({ unit: 'grapheme' })), (text) => {
      const domain = toDomain(text)
      expect(domain === undefined ? undefined : toDomain(domain)).toBe(domain as string)
    }),
  )
})

test('an address belongs to its domain and those above it, longest first', () => {
  expect(domainsOf('a@Mail.Eu.Example.com')).toEqual(['mail.eu.example.com', 'eu.example.com', 'example.com', 'com'])
  expect(domainsOf('jörg@münchen.de')).toEqual(['xn--mnchen-3ya.de', 'de'])
  expect(domainsOf('"odd@example.org"@example.com')).toEqual(['example.com', 'com'])
  expect(domainsOf('nonsense')).toEqual([])
  expect(domainsOf('a@[1.2.3.4]')).toEqual([])
})

const companies = [
  { id: 'none', domains: [] },
  { id: 'old', domains: ['shared.com', 'acme.com'] },
  { id: 'europe', domains: ['eu.acme.com'] },
  { id: 'young', domains: ['shared.com', 'xn--mnchen-3ya.de'] },
]

test.each([
  ['a@acme.com', 'old'],
  ['a@ACME.COM', 'old'],
  ['a@us.acme.com', 'old'],
  ['a@eu.acme.com', 'europe'],
  ['a@paris.eu.acme.com', 'europe'],
  ['a@noteu.acme.com', 'old'],
  ['a@notacme.com', undefined],
  ['a@acme.com.evil.org', undefined],
  ['acme.com@evil.org', undefined],
  ['a@com', undefined],
  ['a@shared.com', 'old'],
  ['a@MÜNCHEN.de', 'young'],
])('%s belongs to %p', (email, expected) => {
  expect(ownersOf(companies)(email)).toBe(expected as string)
})
