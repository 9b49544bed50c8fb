import { createPublicKey } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { INLET_PROVIDERS } from '../../base/db/schema'
import { Uuid } from '../../base/shapes/answers'
import { body, oneOf, optional, text } from '../../base/shapes/fields'
import { query, queryText } from '../../base/shapes/query'

export const NewInlet = body({
  provider: oneOf(INLET_PROVIDERS, { description: 'Who will call the URL; `raw`: anything that posts an email' }),
  signing_key: optional(
    text({
      min: 1,
      max: 4096,
      description:
        'raw, postmark, cloudmailin: `user:password`, which the requests must have (Basic); without it the URL is ' +
        'enough. mailgun: the HTTP webhook signing key. sendgrid: the public key of the security policy. Write only',
    }),
  ),
})
export type NewInlet = typeof NewInlet.static

export const Inlet = Type.Object({
  provider: oneOf(INLET_PROVIDERS, { description: 'Who may call the URL' }),
  url: Type.String({ description: 'Shown once: who knows it can bring mail' }),
})
export type Inlet = typeof Inlet.static

export const TakenMail = Type.Object({ id: Uuid })

/** The envelope of `raw` mail, whose body has none. */
export const RawEnvelope = query({
  from: queryText({ description: 'Of `raw` mail: the envelope sender; empty for reports' }),
  to: queryText({ description: 'Of `raw` mail: the envelope recipient, with its `+tag`' }),
  ip: queryText({ description: 'Of `raw` mail: the address that delivered it, for SPF' }),
})
export type RawEnvelope = typeof RawEnvelope.static

/** The fault of a signing key for a provider; undefined when it is right. */
export function faultOfKey({ provider, signing_key }: NewInlet): string | undefined {
  if (provider === 'mailgun') return signing_key ? undefined : 'is required: the HTTP webhook signing key'
  if (provider === 'sendgrid') {
    return signing_key && readPublicKey(signing_key) ? undefined : 'must be the public key of the security policy'
  }
  return !signing_key || /^[^:]+:./.test(signing_key) ? undefined : 'must be user:password'
}

/** Reads an elliptic public key, as base64 of its DER or as PEM; undefined for anything else. */
export function readPublicKey(text: string) {
  try {
    const key = text.includes('-----BEGIN')
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ec' ? key : undefined
  } catch {
    return undefined
  }
}
