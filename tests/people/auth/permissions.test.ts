/** The one decision about what a caller may do. */
import { expect, test } from 'bun:test'
import { type Actor, SYSTEM } from '../../../src/base/scope'
import {
  type Permission,
  permits,
  requirePerson,
  rolesThatMay,
  type Standing,
} from '../../../src/http/request/permissions'

const person = { type: 'user', id: '1', name: 'Ada', email: 'ada@deskwire.example' } as const
const ADMIN = { actor: { ...person, role: 'admin' } as Actor }
const AGENT = { actor: { ...person, role: 'agent' } as Actor }
const CONTACT = { actor: { ...person, type: 'contact' } as Actor }
const NOBODY = { actor: SYSTEM }

test.each<[Permission | Standing, boolean]>([
  ['member', true],
  ['admin', false],
  ['tickets:write', true],
  ['messages:write', true],
  ['contacts:write', true],
  ['companies:write', true],
  ['labels:write', true],
  ['time_entries:write', true],
  ['webhooks:read', true],
  ['webhooks:write', false],
  ['mailboxes:read', true],
  ['mailboxes:write', false],
  ['users:read', true],
  ['users:write', false],
  ['organization:read', true],
  ['organization:write', false],
  ['inbound_messages:read', false],
  ['inbound_messages:write', false],
  ['audit_log:read', false],
  ['retention:read', false],
])('%s: an admin may, an agent may: %p, contacts and the system may not', (needed, agent_may) => {
  expect(permits(ADMIN, needed)).toBe(true)
  expect(permits(AGENT, needed)).toBe(agent_may)
  expect(permits(CONTACT, needed)).toBe(false)
  expect(permits(NOBODY, needed)).toBe(false)
})

test('what belongs to somebody is changed by them and by admins', () => {
  expect(permits(AGENT, 'time_entries:write', '1')).toBe(true)
  expect(permits(AGENT, 'time_entries:write', '2')).toBe(false)
  expect(permits(ADMIN, 'time_entries:write', '2')).toBe(true)
  expect(permits(AGENT, 'webhooks:write', '1')).toBe(false)
  expect(permits(NOBODY, 'time_entries:write', '2')).toBe(false)
})

test('only admins may manage the members', () => {
  expect(rolesThatMay('users:write')).toEqual(['admin'])
  expect(rolesThatMay('tickets:write')).toEqual(['admin', 'agent'])
})

test('only people who signed in act in their own name', () => {
  expect(requirePerson(AGENT).id).toBe('1')
  expect(() => requirePerson(NOBODY)).toThrow('Insufficient permissions')
  expect(() => requirePerson(CONTACT)).toThrow('Insufficient permissions')
})
