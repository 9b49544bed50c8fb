/** Lookups in the DNS of others. */
import { expect, test } from 'bun:test'
import { lookupFor } from '../../../src/base/net/dns'
import { startDns } from '../../support/dns'
import { withSettings } from '../../support/settings'

test('large answers push older ones out, so that nobody fills the memory with them', async () => {
  using dns = await startDns({ '*': { TXT: Array(200).fill('x'.repeat(250)) } })
  using _ = withSettings({ DNS_SERVERS: [dns.address] })
  const lookup = lookupFor(60_000)
  for (let n = 0; n < 200; n++) await lookup(`n${n}.example`, 'TXT')
  const asksAgain = async (name: string) => {
    dns.asked.length = 0
    await lookup(name, 'TXT')
    return dns.asked.length > 0
  }
  expect(await asksAgain('n199.example')).toBe(false)
  expect(await asksAgain('n0.example')).toBe(true)
})
