/** A client's address as the log shows it. */
import { expect, test } from 'bun:test'
import { loggedAddress } from '../../../src/base/net/client-address'
import { withSettings } from '../../support/settings'

test.each([
  ['full', '203.0.113.7', '203.0.113.7'],
  ['full', '2001:db8:1:2::3', '2001:db8:1:2::3'],
  ['network', '203.0.113.7', '203.0.113.0'],
  ['network', '::ffff:203.0.113.7', '203.0.113.0'],
  ['network', '2001:db8:1:2::3', '2001:db8:1::'],
  ['none', '203.0.113.7', undefined],
] as const)('with LOG_CLIENT_ADDRESS=%s, %s is shown as %p', (LOG_CLIENT_ADDRESS, address, expected) => {
  using _ = withSettings({ LOG_CLIENT_ADDRESS })
  expect(loggedAddress(address)).toBe(expected)
})
