import { afterEach, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { sign, useSecrets } from '../../../src/base/secrets'
import { newMessageId, readMessageId, readReplyTag, replyAddress } from '../../../src/desk/messages/anchors'

const KEY = 'a secret key that only tests use'

beforeEach(() => useSecrets(KEY))
afterEach(() => useSecrets(KEY))

test('a Message-ID of ours names its message, also when a relay changed its case', () => {
  const id = newId()
  const message_id = newMessageId(id, 'acme.example')
  expect(message_id).toMatch(/^[0-9a-z]{1,48}@acme\.example$/)
  expect(readMessageId(message_id)).toBe(id)
  expect(readMessageId(message_id.toUpperCase())).toBe(id)
  expect(readMessageId(message_id.replace('acme.example', 'relay.example'))).toBe(id)
})

/** The Message-ID of earlier releases. */
function longMessageId(id: string): string {
  return `${id}.${sign('message-id', id).subarray(0, 12).toString('hex')}@acme.example`
}

test('a Message-ID of earlier releases still names its message', () => {
  const id = newId()
  expect(readMessageId(longMessageId(id))).toBe(id)
  expect(readMessageId(longMessageId(id).toUpperCase())).toBe(id)
})

test('a Message-ID that is forged or of others names nothing', () => {
  const [id, other] = [newId(), newId()]
  const message_id = newMessageId(id, 'acme.example')
  for (const forged of [
    message_id.slice(0, 20) + newMessageId(other, 'acme.example').slice(20),
    message_id.replace(/^.{44}/, '0'.repeat(44)),
    message_id.replace(/^.{44}/, 'z'.repeat(44)),
    message_id.slice(1),
    `x${message_id}`,
    longMessageId(id).replace(id, other),
    longMessageId(id).replace(/\..{24}@/, '@'),
    longMessageId(id).replace(/\..{24}@/, '.@'),
    'CAF=abc@mail.gmail.com',
    '',
  ]) {
    expect(readMessageId(forged)).toBeNull()
  }
})

test('a reply address leads to its ticket, also when a relay changed its case', () => {
  for (let round = 0; round < 200; round++) {
    const id = newId()
    const address = replyAddress('Help@Acme.example', id)
    expect(address).toMatch(/^Help\+[0-9a-z]{38}@Acme\.example$/)
    expect(readReplyTag(address)).toBe(id)
    expect(readReplyTag(address.toUpperCase())).toBe(id)
  }
})

test('a reply address keeps within 64 characters before the @, or has no tag', () => {
  const longest = `${'x'.repeat(25)}@acme.example`
  expect(replyAddress(longest, newId()).indexOf('@')).toBe(64)
  const too_long = `${'x'.repeat(26)}@acme.example`
  expect(replyAddress(too_long, newId())).toBe(too_long)
})

test('a reply address that is forged or of others leads nowhere', () => {
  const address = replyAddress('help@acme.example', newId())
  const tag = address.slice(5, 43)
  const another = tag.at(-1) === '0' ? '1' : '0'
  for (const forged of [
    address.replace(tag, tag.slice(0, -1) + another),
    address.replace(tag, 'z'.repeat(38)),
    address.replace(tag, '0'.repeat(38)),
    address.replace(tag, tag.slice(1)),
    'help@acme.example',
    'help+sales@acme.example',
    '',
  ]) {
    expect(readReplyTag(forged)).toBeNull()
  }
})

test('anchors outlive a change of the secret key, as long as the previous one is known', () => {
  const id = newId()
  const [message_id, address] = [newMessageId(id, 'acme.example'), replyAddress('help@acme.example', id)]
  useSecrets('another secret key for tests', KEY)
  expect([readMessageId(message_id), readReplyTag(address)]).toEqual([id, id])
  useSecrets('another secret key for tests')
  expect([readMessageId(message_id), readReplyTag(address)]).toEqual([null, null])
})
