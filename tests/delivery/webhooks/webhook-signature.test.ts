import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { signatureHeaders } from '../../../src/delivery/webhooks/signature'

const DELIVERY = {
  secrets: [],
  delivery_id: '0197f4b0-0000-7000-8000-000000000001',
  event_id: '0197f4b0-0000-7000-8000-000000000002',
  event: 'ticket.created',
  timestamp: '2026-03-04T05:06:07Z',
  body: JSON.stringify({ event: 'ticket.created', data: { subject: 'Grüße 🎉' } }),
  now: new Date(),
}
const STANDARD_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const headersFor = (changes: Partial<Parameters<typeof signatureHeaders>[0]>) =>
  signatureHeaders({ ...DELIVERY, ...changes })

describe('the headers of a delivery', () => {
  test('without a secret carry no signature', () => {
    expect(headersFor({ secrets: [] })).toEqual({
      'content-type': 'application/json',
      'x-service-event': 'ticket.created',
      'x-service-event-id': DELIVERY.event_id,
      'x-service-delivery': DELIVERY.delivery_id,
      'x-service-timestamp': '2026-03-04T05:06:07Z',
    })
  })

  test('carry the HMAC-SHA256 of the exact bytes in lower case hex', () => {
    // Computed with: printf '%s' '{"a":"ü"}' | openssl dgst -sha256 -hmac secret
    const expected = '1e2f213fff320baba2bdea43cda0fef307cc4dc832059b91cd2f03592c997662'
    const body = '{"a":"ü"}'
    expect(headersFor({ secrets: ['secret'], body })['x-service-signature']).toBe(`sha256=${expected}`)
    const bytes = new TextEncoder().encode(body)
    expect(headersFor({ secrets: ['secret'], body: bytes })['x-service-signature']).toBe(`sha256=${expected}`)
  })

  test('name the delivery and the time of the attempt to the standard', () => {
    const headers = headersFor({ secrets: [STANDARD_SECRET], now: new Date('2026-03-04T05:06:07.999Z') })
    expect(headers['webhook-id']).toBe(DELIVERY.delivery_id)
    expect(headers['webhook-timestamp']).toBe('1772600767')
  })

  test.each([
    ['a secret of the standard', STANDARD_SECRET, new Webhook(STANDARD_SECRET)],
    ['any other secret', 'Füße and more', new Webhook(Buffer.from('Füße and more'), { format: 'raw' })],
  ])("with %s are accepted by the standard's own library", (_, secret, verifier) => {
    expect(verifier.verify(DELIVERY.body, headersFor({ secrets: [secret] }))).toEqual(JSON.parse(DELIVERY.body))
    expect(() => verifier.verify(`${DELIVERY.body} `, headersFor({ secrets: [secret] }))).toThrow()
    expect(() => verifier.verify(DELIVERY.body, headersFor({ secrets: ['another'] }))).toThrow()
  })

  test('verify with each secret while one replaces the other, and with the newest in the own header', () => {
    const headers = headersFor({ secrets: ['new secret', STANDARD_SECRET] })
    expect(new Webhook(Buffer.from('new secret'), { format: 'raw' }).verify(DELIVERY.body, headers)).toBeDefined()
    expect(new Webhook(STANDARD_SECRET).verify(DELIVERY.body, headers)).toBeDefined()
    const newest = createHmac('sha256', 'new secret').update(DELIVERY.body).digest('hex')
    expect(headers['x-service-signature']).toBe(`sha256=${newest}`)
  })

  test('never carry a signature of the empty key, which stored secrets of before may stand for', () => {
    for (const secret of ['whsec_', 'whsec_A', 'whsec_!!']) {
      const own = createHmac('sha256', secret).update(DELIVERY.body).digest('hex')
      const headers = headersFor({ secrets: [secret] })
      expect(headers['x-service-signature']).toBe(`sha256=${own}`)
      expect(Object.keys(headers).filter((name) => name.startsWith('webhook-'))).toEqual([])
      const { 'webhook-signature': signatures } = headersFor({ secrets: [secret, STANDARD_SECRET] })
      expect(signatures!.split(' ')).toHaveLength(1)
    }
  })
})
