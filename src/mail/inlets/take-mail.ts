/** Takes mail over HTTPS: what a provider posts becomes as durable as what SMTP answers 250 for, by the same way. */
import { isIP } from 'node:net'
import { mailboxKey } from '../../base/address/email'
import { isInNetworks } from '../../base/address/networks'
import { config } from '../../base/config'
import { arrivingOf, jobConnection, lookUps } from '../../base/db/pool'
import type { INLET_PROVIDERS } from '../../base/db/schema'
import { violates } from '../../base/db/violations'
import { ApiError, fieldError } from '../../base/errors'
import { looksLikeAddress } from '../../base/mime/addresses'
import { storable } from '../../base/shapes/fold'
import { readBounceTag, readReplyTag } from '../../desk/messages/anchors'
import { countedBy } from '../../http/admission/credentials'
import { countRequest } from '../../http/admission/rate-limit'
import { contentLengthOf, holdBody, holdMore, inTime } from '../../http/request/arriving-body'
import { stateOf } from '../../http/request/request'
import { acceptMessage, type TakenRequest } from '../inbound/accept'
import { checkCapacity } from '../inbound/capacity'
import type { Envelope } from '../smtp/envelope'
import type { RawEnvelope } from './model'
import {
  type Payload,
  type Posted,
  readCloudmailin,
  readMailgun,
  readPostmark,
  readRaw,
  readSendgrid,
  requireBasic,
} from './payloads'
import { findInlet, type OpenInlet } from './queries'
import { takeOnce } from './taken-requests'

const READERS: Record<(typeof INLET_PROVIDERS)[number], (posted: Posted) => Promise<Payload>> = {
  raw: readRaw,
  postmark: readPostmark,
  cloudmailin: readCloudmailin,
  mailgun: readMailgun,
  sendgrid: readSendgrid,
}

/** The longest address that an SMTP path can hold (RFC 5321). */
const MAX_ADDRESS = 320
/** The most of a name in HELO. */
const MAX_HELO = 300

let findRefusal: ReturnType<typeof checkCapacity> | undefined

/**
 * Takes the email that a provider posts. Nothing of the body is read before the token and what can be judged without it
 * are known to be good.
 * @param headers of the answer: guesses of tokens are counted by address
 * @throws MAILBOX_NOT_FOUND for a token that is good for nothing, RATE_LIMITED for many of them; INVALID_SIGNATURE,
 *   BAD_REQUEST, PAYLOAD_TOO_LARGE, VALIDATION_ERROR for what was posted; SERVICE_UNAVAILABLE
 * @returns the id of its row in the ledger
 */
export async function takeMail(
  token: string,
  envelope: RawEnvelope,
  request: Request,
  headers: Record<string, string | number>,
): Promise<{ id: string }> {
  const inlet = await findInlet(lookUps().sql, token)
  if (!inlet) {
    await countRequest(countedBy(stateOf(request)), headers)
    throw new ApiError('MAILBOX_NOT_FOUND')
  }
  const { organization_id, provider, signing_key } = inlet
  stateOf(request).organization_id = organization_id
  const connection = arrivingOf(organization_id)
  const limit_bytes = config.SMTP_MAX_BYTES
  const posted = { request, envelope, signing_key, limit_bytes, chunks: arriving(request, 2 * limit_bytes) }
  if (provider !== 'mailgun' && provider !== 'sendgrid') requireBasic(posted)
  if ((contentLengthOf(request) ?? 0) > 2 * limit_bytes) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
  findRefusal ??= checkCapacity(jobConnection().sql)
  const refusal = await findRefusal()
  if (refusal) throw new ApiError('SERVICE_UNAVAILABLE', { reason: refusal.text.slice(refusal.text.indexOf(' ') + 1) })
  holdBody(request, organization_id, 'whole')
  const payload = await READERS[provider](posted)
  const original = requireOriginal(payload, limit_bytes)
  const take = async (once?: TakenRequest) => {
    const accepted = acceptMessage(connection, envelopeOf(inlet, payload), oneChunk(original), 'http', once)
    return (await accepted).queue_id
  }
  const { request_digest } = payload
  const taken = request_digest ? takeOnce(connection, organization_id, { request_digest, original }, take) : take()
  const id = await taken.catch((error) => {
    throw violates(error, 'inbound_messages_mailbox_fk') ? new ApiError('MAILBOX_NOT_FOUND') : error
  })
  return { id }
}

/** The body of a request while it arrives. @throws PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE, REQUEST_TIMEOUT */
async function* arriving(request: Request, most: number): AsyncGenerator<Uint8Array> {
  if (!request.body) return
  const has_length = contentLengthOf(request) !== undefined
  let size = 0
  for await (const chunk of inTime(request.body as ReadableStream<Uint8Array>)) {
    size += chunk.length
    if (size > most) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes: config.SMTP_MAX_BYTES })
    if (!has_length) holdMore(request, chunk.length)
    yield chunk
  }
}

function requireOriginal({ original, field }: Payload, limit_bytes: number): Uint8Array {
  const path = field === '' ? '' : `/${field}`
  if (!original) throw fieldError('VALIDATION_ERROR', path, 'is required: the original of the email')
  if (original.length === 0) throw fieldError('VALIDATION_ERROR', path, 'must not be empty')
  if (original.length > limit_bytes) throw new ApiError('PAYLOAD_TOO_LARGE', { limit_bytes })
  return original
}

/**
 * Makes the envelope. The token says which mailbox the mail is for, whatever the payload names. An address of our own
 * relays says nothing: what those found out is for mail that they bring themselves.
 */
function envelopeOf(inlet: OpenInlet, payload: Payload): Envelope {
  const { organization_id, mailbox_id, mailbox_address, signing_key } = inlet
  // Whoever knows the URL of an inlet without a key could name an address that the sender's SPF lets send.
  const ip = signing_key === null ? '' : (payload.ip?.trim() ?? '')
  const is_known = isIP(ip) !== 0 && !isInNetworks(ip, config.SMTP_TRUSTED_RELAYS)
  const address = recipientOf(mailbox_address, payload.recipients.slice(0, 100).map(bare))
  return {
    sender: senderOf(payload.sender),
    recipients: [{ organization_id, mailbox_id, mailbox_address, address }],
    remote_address: is_known ? ip : null,
    relay_address: null,
    helo: payload.helo === null ? null : storable(payload.helo.toLowerCase().replace(/\p{Cc}/gu, ''), MAX_HELO),
    tls: new URL(config.BASE_URL).protocol === 'https:',
  }
}

/** The mailbox's own address as a recipient names it, else the mailbox's with the `+tag` of ours that one has. */
function recipientOf(mailbox_address: string, recipients: string[]): string {
  const own = recipients.filter((one) => mailboxKey(one) === mailboxKey(mailbox_address))
  const found = own.find((one) => one.includes('+')) ?? own[0]
  if (found !== undefined) return found
  const [, tag] =
    recipients
      .filter((one) => readReplyTag(one) ?? readBounceTag(one))
      .map((one) => /(\+[^+@]*)@[^@]*$/.exec(one))[0] ?? []
  return tag ? mailbox_address.replace(/@[^@]*$/, (domain) => tag + domain) : mailbox_address
}

/** Empty for the null sender; null for what is no address. */
function senderOf(text: string | null): string | null {
  if (text === null) return null
  const address = bare(text)
  return address === '' || looksLikeAddress(address) ? address : null
}

function bare(text: string): string {
  return storable(
    text
      .trim()
      .replace(/^<([^<>]*)>$/, '$1')
      .replace(/\p{Cc}/gu, ''),
    MAX_ADDRESS,
  )
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
