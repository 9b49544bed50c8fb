/**
 * Names that others chose, in letters of the service: they must not turn an invitation into a message of a stranger.
 */
import { expect, test } from 'bun:test'
import { invitationLetter } from '../../../src/mail/letters/letter-texts'

const letterOf = (organization: string) => invitationLetter({ organization, inviter: 'Ada Admin', token: 'x' })

test.each([
  ['You won! https://evil.example/a', 'You won! https evil. example/a'],
  ['www.evil.example', 'www. evil. example'],
  ['Acme\r\nBcc: a\u202Eb', 'Acme Bcc: a b'],
  ['Acme Inc.', 'Acme Inc.'],
])('the name %j is written so that no mail program links it', (name, written) => {
  const { subject, text } = letterOf(name)
  expect(subject).toBe(`Invitation to ${written}`)
  expect(text).toContain(`support tickets of ${written}.\n`)
})

test('a name is shortened to 80 characters', () => {
  expect(letterOf('é😀'.repeat(40)).subject).toBe(`Invitation to ${'é😀'.repeat(40)}`)
  expect(letterOf('😀'.repeat(81)).subject).toBe(`Invitation to ${'😀'.repeat(79)}…`)
})
