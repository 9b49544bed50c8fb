import { Type } from '@sinclair/typebox'
import { toDomain } from '../../base/address/domains'
import { orNull, Uuid } from '../../base/shapes/answers'
import { body, oneOf, text } from '../../base/shapes/fields'

export const Domain = Type.Object({
  id: Uuid,
  domain: Type.String({ description: 'In lower case, an international one as Punycode' }),
  status: oneOf(['pending', 'verified'], { description: 'Whether it is proven that the domain is yours' }),
  dns_record: Type.Object(
    {
      name: Type.String({ description: '_deskwire-challenge.<domain>' }),
      value: Type.String({ description: 'Differs for each organization' }),
    },
    { description: 'The TXT record to publish' },
  ),
})
export type Domain = typeof Domain.static

export const DomainRecord = Type.Object({
  purpose: oneOf(['MX', 'SPF', 'DKIM', 'DMARC'], { description: 'What the record is for' }),
  type: oneOf(['MX', 'TXT'], { description: 'Of the record in DNS' }),
  name: Type.String(),
  value: orNull(Type.String(), { description: 'What to publish; null: it is not for the service to say' }),
  found: orNull(Type.Array(Type.String()), { description: 'What is published; null: not known' }),
  state: oneOf(['ok', 'missing', 'differs', 'unknown', 'left'], {
    description: '`unknown`: DNS does not tell now. `left`: not checked',
  }),
  note: Type.String({ description: 'What is wrong, or why it is right' }),
})
export type DomainRecord = typeof DomainRecord.static

export const DomainRecords = Type.Array(DomainRecord, {
  description: 'MX, and of mailboxes that send SPF, DKIM and DMARC',
})

export const NewDomain = body({
  domain: text({
    max: 10_000,
    rule: (value) => toDomain(value.trim()) !== undefined,
    code: 'INVALID_DOMAIN',
    fault: 'must be a domain such as example.com',
    description: 'What stands after the @ of mailbox addresses. A subdomain is a domain by itself',
  }),
})
export type NewDomain = typeof NewDomain.static
