/** Reads what providers post: the original of an email, and what they know of its envelope. */
import { createHash } from 'node:crypto'
import { ApiError, fieldError } from '../../base/errors'
import { scanJson } from '../../http/request/json-scan'
import { type Form, readForm } from './form'
import type { RawEnvelope } from './model'
import { hasBasic, isSignedByMailgun, isSignedBySendgrid, verifyOfSendgrid } from './provider-signatures'
import { hashToken } from './token'

/** An email as a provider posted it. What it did not say of the envelope is null. */
export type Payload = {
  original: Uint8Array | undefined
  /** The field that has the original, for the fault when it is missing. */
  field: string
  sender: string | null
  /** Addresses of recipients, in any form. */
  recipients: string[]
  ip: string | null
  helo: string | null
  /** SHA-256 of what its signature is good for: the request counts once. */
  request_digest?: Buffer
}

/** A request, and how its body is read. */
export type Posted = {
  request: Request
  envelope: RawEnvelope
  signing_key: string | null
  /** The body as it arrives. It fails above the limit of requests, and when the client is too slow. */
  chunks: AsyncIterable<Uint8Array>
  /** Bytes that an original may have. */
  limit_bytes: number
}

/** Values of a JSON body: 100 recipients and 200 header fields. */
const MAX_VALUES = 20_000

/** @throws INVALID_SIGNATURE before anything is read, for providers whose requests name a user and a password */
export function requireBasic({ request, signing_key }: Posted): void {
  if (signing_key !== null && !hasBasic(request, signing_key)) throw new ApiError('INVALID_SIGNATURE')
}

/** Reads the body of a request, which is an email. @throws BAD_REQUEST, PAYLOAD_TOO_LARGE */
export async function readRaw({ request, envelope, chunks, limit_bytes }: Posted): Promise<Payload> {
  if (typeOf(request) !== 'message/rfc822') {
    throw new ApiError('BAD_REQUEST', { reason: 'The body must be an email, with Content-Type message/rfc822' })
  }
  const { from = null, to, ip = null } = envelope
  const original = await readAll(chunks, limit_bytes)
  return { original, field: '', sender: from, recipients: to ? [to] : [], ip, helo: null }
}

/**
 * Reads the JSON of Postmark with `RawEmail`, which is sent when "Include raw email content" is on.
 * https://postmarkapp.com/developer/webhooks/inbound-webhook
 * @throws BAD_REQUEST, VALIDATION_ERROR
 */
export async function readPostmark({ request, chunks }: Posted): Promise<Payload> {
  if (typeOf(request) !== 'application/json') {
    throw new ApiError('BAD_REQUEST', { reason: 'The Content-Type must be application/json' })
  }
  const bytes = await readAll(chunks, Number.POSITIVE_INFINITY)
  if ('fault' in scanJson(bytes, { values: MAX_VALUES, depth: 20 })) {
    throw fieldError('VALIDATION_ERROR', '', 'must not be nested deeply, or hold that many values')
  }
  const { RawEmail, OriginalRecipient } = parseObject(new TextDecoder().decode(bytes))
  const original = typeof RawEmail === 'string' ? Buffer.from(RawEmail) : undefined
  const recipients = typeof OriginalRecipient === 'string' ? [OriginalRecipient] : []
  return { original, field: 'RawEmail', sender: null, recipients, ip: null, helo: null }
}

/**
 * Reads the form of CloudMailin in its raw format. https://docs.cloudmailin.com/http_post_formats/raw/
 * @throws as `readForm`
 */
export async function readCloudmailin({ request, chunks, limit_bytes }: Posted): Promise<Payload> {
  const wanted = { original: 'message', fields: /^envelope\[/, limit_bytes }
  const form = await readForm(request.headers.get('content-type') ?? '', chunks, wanted)
  const field = fieldOf(form)
  const listed = [...form.fields].flatMap(([name, texts]) => (name.startsWith('envelope[recipients]') ? texts : []))
  return {
    original: form.original,
    field: 'message',
    sender: field('envelope[from]') ?? null,
    recipients: [...[field('envelope[to]') ?? []].flat(), ...listed],
    ip: field('envelope[remote_ip]') ?? null,
    helo: field('envelope[helo_domain]') ?? null,
  }
}

/**
 * Reads the form of a Mailgun route, which has the original when the URL ends with `mime`.
 * https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http
 * @throws INVALID_SIGNATURE, and as `readForm`
 */
export async function readMailgun({ request, chunks, limit_bytes, signing_key }: Posted): Promise<Payload> {
  const wanted = { original: 'body-mime', fields: /^(sender|recipient|timestamp|token|signature)$/, limit_bytes }
  const form = await readForm(request.headers.get('content-type') ?? '', chunks, wanted)
  const field = fieldOf(form)
  if (!isSignedByMailgun(field, signing_key!)) throw new ApiError('INVALID_SIGNATURE')
  const recipients = [field('recipient') ?? []].flat()
  const { original } = form
  const request_digest = hashToken(field('token')!)
  const sender = field('sender') ?? null
  return { original, field: 'body-mime', sender, recipients, ip: null, helo: null, request_digest }
}

/**
 * Reads the form of SendGrid's Inbound Parse with "POST the raw, full MIME message" on, and a security policy.
 * https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/setting-up-the-inbound-parse-webhook
 * @throws INVALID_SIGNATURE, VALIDATION_ERROR, and as `readForm`
 */
export async function readSendgrid({ request, chunks, limit_bytes, signing_key }: Posted): Promise<Payload> {
  const wanted = { original: 'email', fields: /^(envelope|sender_ip)$/, limit_bytes }
  const verify = verifyOfSendgrid(request)
  const digest = createHash('sha256')
  const form = await readForm(request.headers.get('content-type') ?? '', seenBy([verify, digest], chunks), wanted)
  if (!isSignedBySendgrid(request, verify, signing_key!)) throw new ApiError('INVALID_SIGNATURE')
  const field = fieldOf(form)
  const { from, to } = parseObject(field('envelope') ?? '{}', 'envelope')
  return {
    original: form.original,
    field: 'email',
    sender: typeof from === 'string' ? from : null,
    recipients: [to].flat().filter((one) => typeof one === 'string'),
    ip: field('sender_ip') ?? null,
    helo: null,
    // A signature has several forms that are right, and what it signs has one.
    request_digest: digest.digest(),
  }
}

type Seeing = { update(bytes: Uint8Array): unknown }

async function* seenBy(seeing: Seeing[], chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (const one of seeing) one.update(chunk)
    yield chunk
  }
}

async function readAll(chunks: AsyncIterable<Uint8Array>, limit_bytes: number): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > limit_bytes) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
    all.push(chunk)
  }
  return Buffer.concat(all, size)
}

function fieldOf({ fields }: Form) {
  return (name: string) => fields.get(name)?.[0]
}

/** @param field that has the JSON; without it the body */
function parseObject(text: string, field?: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    if (field === undefined) throw new ApiError('BAD_REQUEST', { reason: 'The body is no valid JSON' })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw fieldError('VALIDATION_ERROR', field === undefined ? '' : `/${field}`, 'must be a JSON object')
}

function typeOf({ headers }: Request): string | undefined {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
}
