/** Compares what DNS has of SMTP_HOSTNAME and of its addresses: other mail servers look at both. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { config } from '../../../base/config'
import type { RecordLookup } from '../../../base/net/dns'
import type { Checked } from '../../../mail/domain-records/checked'
import { ask } from '../../../mail/domain-records/lookups'

/** @returns the address of the name, and for each address the name that it leads back to */
export async function ownRecords(lookup: RecordLookup): Promise<Checked[]> {
  const own = config.SMTP_HOSTNAME.replace(/^\[(?:ipv6:)?(.*)\]$/i, '$1')
  if (isIP(own)) return [await pointer(own, null, lookup)]
  const found = await Promise.all(['A', 'AAAA'].map((type) => ask(lookup, own, type)))
  const record = { name: own, type: 'A', purpose: 'address', found: null } as const
  const addresses = found.flatMap((some) => (some === 'unknown' ? [] : some)).map((one) => String(JSON.parse(one)))
  if (addresses.length === 0) {
    const is_known = !found.includes('unknown')
    return [
      {
        ...record,
        value: null,
        state: is_known ? 'missing' : 'unknown',
        note: is_known ? 'publish the public address of this installation' : 'DNS does not answer',
      },
    ]
  }
  const note = `SMTP_HOSTNAME is ${addresses.join(', ')}`
  const pointers = await Promise.all(addresses.map((address) => pointer(address, own, lookup)))
  return [{ ...record, value: null, state: 'ok', note }, ...pointers]
}

/** @param own null: any name that leads back to the address */
async function pointer(address: string, own: string | null, lookup: RecordLookup): Promise<Checked> {
  const name = reverseOf(address)
  const value = own === null ? null : `${own}.`
  const record = { name, type: 'PTR', value, purpose: 'PTR', found: null } as const
  const found = await ask(lookup, name, 'PTR')
  if (found === 'unknown') return { ...record, state: 'unknown', note: 'DNS does not answer' }
  const names = found.map((one) => String(JSON.parse(one)).replace(/\.$/, '').toLowerCase())
  if (names.length === 0) {
    return {
      ...record,
      state: 'missing',
      note: `servers doubt mail from ${address}. Whoever gave you the address sets it`,
    }
  }
  if (own === null || names.includes(own.toLowerCase())) {
    return { ...record, state: 'ok', note: `${address} leads to ${names.join(', ')}` }
  }
  return {
    ...record,
    state: 'differs',
    note: `${address} leads to ${names.join(', ')}. Whoever gave you the address sets it`,
  }
}

function reverseOf(address: string): string {
  const bytes = ipaddr.parse(address).toByteArray()
  if (bytes.length === 4) return `${bytes.toReversed().join('.')}.in-addr.arpa`
  const digits = bytes.flatMap((byte) => [...byte.toString(16).padStart(2, '0')])
  return `${digits.toReversed().join('.')}.ip6.arpa`
}
