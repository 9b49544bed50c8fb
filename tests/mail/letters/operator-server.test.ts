import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/base/config'
import { operatorServer } from '../../../src/mail/letters/operator-server'
import { withSettings } from '../../support/settings'

const FROM = { name: 'Desk', address: 'desk@example.com' }
const NOBODY = { username: null, password: null }

test.each([
  ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, security: 'starttls', ...NOBODY }],
  ['smtps://mail.example.com', { host: 'mail.example.com', port: 465, security: 'tls', ...NOBODY }],
  ['smtp://mailpit:1025?security=none', { host: 'mailpit', port: 1025, security: 'none', ...NOBODY }],
  ['smtp://localhost', { host: 'localhost', port: 25, security: 'none', ...NOBODY }],
  ['smtp://127.0.0.2:2500', { host: '127.0.0.2', port: 2500, security: 'none', ...NOBODY }],
  ['smtp://[::1]:2500', { host: '::1', port: 2500, security: 'none', ...NOBODY }],
  ['smtp://[2001:db8::1]', { host: '2001:db8::1', port: 587, security: 'starttls', ...NOBODY }],
  [
    'smtps://desk%40example.com:p%2Fss@mail.example.com:2465',
    { host: 'mail.example.com', port: 2465, security: 'tls', username: 'desk@example.com', password: 'p/ss' },
  ],
])('%s is a server for letters', (SYSTEM_SMTP_URL, smtp) => {
  using _ = withSettings({ SYSTEM_SMTP_URL, SYSTEM_MAIL_FROM: FROM })
  expect(operatorServer()).toEqual({ smtp, from: FROM } as ReturnType<typeof operatorServer>)
})

test('without a setting there is none', () => {
  using _ = withSettings({ SYSTEM_SMTP_URL: undefined, SYSTEM_MAIL_FROM: undefined })
  expect(operatorServer()).toBeUndefined()
})

test.each([
  ['desk@example.com', { name: 'Deskwire', address: 'desk@example.com' }],
  ['Example Desk <desk@example.com>', { name: 'Example Desk', address: 'desk@example.com' }],
  ['"Desk, Example" <desk@example.com>', { name: 'Desk, Example', address: 'desk@example.com' }],
])('%s is a sender', (SYSTEM_MAIL_FROM, sender) => {
  expect(readConfig({ SYSTEM_MAIL_FROM }).SYSTEM_MAIL_FROM).toEqual(sender)
})

test.each([
  [{ SYSTEM_SMTP_URL: 'smtp://mail.example.com' }, 'SYSTEM_MAIL_FROM is required with SYSTEM_SMTP_URL'],
  [{ SYSTEM_SMTP_URL: 'https://mail.example.com' }, 'SYSTEM_SMTP_URL must be a URL with smtp: or smtps:'],
  [{ SYSTEM_MAIL_FROM: 'Desk' }, 'SYSTEM_MAIL_FROM must be an email address, such as desk@example.com'],
])('%j ends the start', (environment, message) => {
  expect(() => readConfig(environment)).toThrow(message)
})
