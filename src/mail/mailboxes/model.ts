import { Type } from '@sinclair/typebox'
import { isOneLine } from '../../base/address/characters'
import { toDomain } from '../../base/address/domains'
import { isEmailAddress } from '../../base/address/email'
import { INLET_PROVIDERS, OAUTH_GRANTS, QUOTES, SMTP_SECURITIES, TEXT_FORMATS } from '../../base/db/schema'
import { checkUrl } from '../../base/net/destination'
import { Instant, orNull, Uuid } from '../../base/shapes/answers'
import { body, flag, IdInput, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { FORMAT_CHANGE, formatInput } from '../../desk/messages/model'
import { FROM_VARIABLES, namesOnly, unknownVariable, VARIABLES } from '../../desk/templates/variables'
import { readDkimKey } from './dkim'

const address = text({
  max: 254,
  rule: (value) => isEmailAddress(value.trim()) && !value.includes('+'),
  code: 'INVALID_EMAIL',
  fault: 'must be an email address without a +tag',
})
const name = text({ max: 255 })
const isName = namesOnly(FROM_VARIABLES)
const from_name = text({
  max: 255,
  rule: (value) => isName(value) && isOneLine(value),
  code: 'INVALID_VARIABLE',
  fault: unknownVariable(FROM_VARIABLES),
  description: `Shown as the sender of answers instead of \`name\`, with ${FROM_VARIABLES.map((one) => `\`{{${one}}}\``).join(', ')}`,
})
const signature = text({
  max: 10_000,
  trim: false,
  rule: namesOnly(VARIABLES),
  code: 'INVALID_VARIABLE',
  fault: unknownVariable(),
  description:
    'Text or HTML, with the variables of macros. Stands below public answers, in the email only. Blank: none',
})

const SECRET = { max: 4096, trim: false, description: 'Write only' }

const authFields = {
  type: oneOf(['oauth2']),
  grant: oneOf(OAUTH_GRANTS),
  token_url: text({
    max: 2048,
    rule: (url) => checkUrl(url) === undefined,
    code: 'INVALID_URL',
    fault: 'must be an https URL without credentials',
  }),
  client_id: text({ min: 1, max: 255 }),
  scope: optional(nullable(text({ max: 2048 }))),
  client_secret: optional(nullable(text(SECRET))),
  refresh_token: optional(nullable(text(SECRET))),
}

const smtpFields = {
  host: text({ min: 1, max: 255, rule: (value) => /^[\w.:[\]-]+$/.test(value.trim()), fault: 'must be a host name' }),
  port: Type.Integer({ minimum: 1, maximum: 65535, fault: 'must be a port from 1 to 65535' }),
  security: oneOf(SMTP_SECURITIES, {
    description: '`none` takes a password only for servers in networks that the operator allows',
  }),
  username: optional(nullable(text({ max: 255, trim: false }))),
  password: optional(nullable(text({ max: 255, trim: false, description: 'Write only' }))),
  auth: optional(
    nullable(Type.Object(authFields, { additionalProperties: true }), {
      fault: 'must be an object with type, grant, token_url and client_id',
      description:
        'Signs in with tokens instead of a password; needs a username, and TLS. The stored secrets stay when none are ' +
        'given and host, port, security, username, grant, token_url and client_id stay',
    }),
  ),
}

/** Labels of a host name, as they stand in front of `._domainkey`. */
const SELECTOR = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

const dkimFields = {
  domain: text({
    max: 253,
    rule: (value) => toDomain(value.trim()) !== undefined,
    fault: 'must be a domain',
    description: 'That of the address, or one above it',
  }),
  selector: text({
    min: 1,
    max: 63,
    rule: (value) => SELECTOR.test(value.trim()),
    fault: 'must be labels of letters, digits and hyphens',
  }),
  private_key: optional(
    nullable(
      text({
        max: 10_000,
        rule: (value) => readDkimKey(value) !== undefined,
        fault: 'must be an RSA private key of 1024 to 4096 bits as PEM, without a passphrase',
        description: 'Write only. When none is given, a key of 2048 bits is made',
      }),
    ),
  ),
}

const verp = flag({
  description:
    'Whether the envelope sender is a signed +tag of the address that names the message (VERP), so that any report ' +
    'about it finds it. The server must accept that sender and deliver the tag',
})

const team_id = IdInput({ not_found: 'TEAM_NOT_FOUND', description: 'The team of tickets that open here' })

export const Mailbox = Type.Object({
  id: Uuid,
  address: Type.String({ description: 'Where it receives and what it sends as' }),
  name: orNull(Type.String({ description: "Shown as the sender; null: the organization's" })),
  from_name: orNull(Type.String({ description: 'Shown as the sender of answers, with variables; null: `name`' })),
  active: Type.Boolean({ description: 'Whether it receives and sends' }),
  is_default: Type.Boolean({
    description: 'Sends where no mailbox received the conversation, or that one cannot send',
  }),
  plus_addressing: Type.Boolean({ description: 'Whether replies are asked for at a signed +tag of the address' }),
  smtp: orNull(
    Type.Object({
      host: Type.String({ description: 'Name or address of the server' }),
      port: Type.Integer({ description: 'Such as 587' }),
      security: oneOf(SMTP_SECURITIES, {
        description: '`starttls` never falls back to plain text; certificates are verified',
      }),
      username: orNull(Type.String({ description: 'Null: without signing in' })),
      auth: orNull(
        Type.Object({
          type: oneOf(['oauth2'], { description: 'How: by OAUTHBEARER where it is offered, else by XOAUTH2' }),
          grant: oneOf(OAUTH_GRANTS, { description: 'What tokens are asked for with' }),
          token_url: Type.String({ description: 'Where tokens are asked for' }),
          client_id: Type.String({ description: 'What this service is called there' }),
          scope: orNull(Type.String({ description: 'What the tokens are to be good for' })),
          has_client_secret: Type.Boolean({ description: 'Whether one is stored' }),
          has_refresh_token: Type.Boolean({ description: 'Whether one is stored' }),
        }),
        { description: 'Null: signs in with the password' },
      ),
    }),
    { description: 'The server that sends; null: the mailbox only receives' },
  ),
  dkim: orNull(
    Type.Object(
      {
        domain: Type.String({ description: 'Who signs' }),
        selector: Type.String({ description: 'Which of its keys' }),
        dns_record: orNull(
          Type.Object(
            {
              name: Type.String({ description: '<selector>._domainkey.<domain>' }),
              value: Type.String({ description: 'v=DKIM1; k=rsa; p=<public key>' }),
            },
            { description: 'The TXT record to publish; null when the stored key cannot be decrypted' },
          ),
        ),
      },
      { description: 'Signs what the mailbox sends (RFC 6376); null does not' },
    ),
  ),
  verp: Type.Boolean({ description: 'Whether the envelope sender names the message' }),
  signature: orNull(Type.String({ description: 'Below public answers, in the email only; with variables' })),
  signature_format: orNull(oneOf(TEXT_FORMATS), { description: 'Null without a signature' }),
  quote: oneOf(QUOTES, { description: 'Earlier public messages below that: the newest, or all, newest first' }),
  team_id: orNull(Uuid, { description: 'The team of tickets that open here; null: none' }),
  domain_verified: Type.Boolean({
    description:
      'Whether the domain of the address is verified as yours (`POST /domains`), and no other mailbox has the address. ' +
      'With MAILBOX_DOMAIN_CHECK a mailbox neither receives nor sends until then',
  }),
  inlet: orNull(
    Type.Object({
      provider: oneOf(INLET_PROVIDERS, { description: 'Who brings the mail' }),
      has_signing_key: Type.Boolean({ description: 'Whether requests must be signed, or name user and password' }),
    }),
    { description: 'How it takes mail over HTTPS (`POST /mailboxes/:id/inlet`)' },
  ),
  sending: Type.Object(
    {
      ok: Type.Boolean({ description: 'False while its server is at fault' }),
      error: orNull(Type.String({ description: 'What went wrong last' })),
      failing_since: orNull(Instant),
      queued: Type.Integer({ description: 'Emails that wait to be sent' }),
    },
    {
      description:
        'While the server cannot be used, emails wait without using attempts, and one of them tries now and then. ' +
        'A success, a good `test` or new `smtp` sends them all',
    },
  ),
  created_at: Instant,
  updated_at: Instant,
})
export type Mailbox = typeof Mailbox.static

export const NewMailbox = body({
  address,
  name: optional(name),
  from_name: optional(from_name),
  active: optional(flag()),
  is_default: optional(flag()),
  plus_addressing: optional(flag()),
  smtp: optional(Type.Object(smtpFields, { additionalProperties: true, fault: 'must be an object' })),
  dkim: optional(Type.Object(dkimFields, { additionalProperties: true, fault: 'must be an object' })),
  verp: optional(verp),
  signature: optional(signature),
  signature_format: formatInput(),
  quote: optional(oneOf(QUOTES, { description: 'Default `last`' })),
  team_id: optional(team_id),
})
export type NewMailbox = typeof NewMailbox.static

export const MailboxChanges = body({
  address: optional(address),
  name: optional(nullable(name)),
  from_name: optional(nullable(from_name)),
  active: optional(flag()),
  is_default: optional(flag()),
  plus_addressing: optional(flag()),
  smtp: optional(
    nullable(Type.Object(smtpFields, { additionalProperties: true }), {
      fault: 'must be an object with host, port and security',
      description:
        'Replaces all SMTP settings. The stored password stays when none is given and host, port, security and username ' +
        'stay; when one of them changes, it must be given again, or null. null for all: only receive',
    }),
  ),
  dkim: optional(
    nullable(Type.Object(dkimFields, { additionalProperties: true }), {
      fault: 'must be an object with domain, selector and, if any, a private key',
      description: 'Without a private key the stored one stays as long as domain and selector do; null: no signatures',
    }),
  ),
  verp: optional(verp),
  signature: optional(nullable(signature)),
  signature_format: formatInput(FORMAT_CHANGE),
  quote: optional(oneOf(QUOTES)),
  team_id: optional(nullable(team_id)),
})
export type MailboxChanges = typeof MailboxChanges.static

export const MailboxTest = Type.Object({
  ok: Type.Boolean({ description: 'Whether the server could be reached and signed in to' }),
  error: orNull(Type.String({ description: 'Why not' })),
  response_time_ms: Type.Integer({ description: 'Until the answer or the error' }),
})
export type MailboxTest = typeof MailboxTest.static
