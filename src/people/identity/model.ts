import { Type } from '@sinclair/typebox'
import { toDomain } from '../../base/address/domains'
import { PROVISIONS } from '../../base/db/schema'
import { checkUrl } from '../../base/net/destination'
import { Instant, orNull } from '../../base/shapes/answers'
import { body, flag, nullable, oneOf, optional, text } from '../../base/shapes/fields'
import { query, queryValue } from '../../base/shapes/query'

const words = (most: number, of: string, rule: (word: string) => boolean = () => true) =>
  Type.Array(text({ min: 1, max: 2048, rule, fault: `must be ${of}` }), {
    maxItems: most,
    fault: `must be a list of at most ${most} ${of}`,
  })

/** Tells if a browser may be sent to a URI with a code. */
const isRedirect = (uri: string) => checkUrl(uri) === undefined && !uri.includes('#')

const valuesOf = (role: string) => Type.Array(Type.String(), { description: `Values that make an ${role}` })

const isIssuer = (url: string) => checkUrl(url) === undefined && !/[?#]/.test(url)

export const IdentityProvider = Type.Object({
  issuer: Type.String({ description: 'URL by which the provider names itself' }),
  client_id: Type.String({ description: 'What the provider calls this service' }),
  has_client_secret: Type.Boolean({ description: 'False: a public client' }),
  redirect_uris: Type.Array(Type.String(), { description: 'Where programs may be sent back to' }),
  trust_email: Type.Boolean({ description: 'Whether an email counts that the provider does not call verified' }),
  provision: oneOf(PROVISIONS, { description: 'Who becomes a member by signing in' }),
  domains: Type.Array(Type.String(), { description: 'Of emails, for `provision: domain`' }),
  role_claim: orNull(Type.String({ description: 'The claim that has the role' })),
  role_values: Type.Object(
    { admin: valuesOf('admin'), agent: valuesOf('agent') },
    { description: 'Values of the claim for each role' },
  ),
  session_seconds: Type.Integer({ description: 'How long a session lasts' }),
  required: Type.Boolean({ description: 'Whether passwords open nothing in this organization' }),
  created_at: Instant,
  updated_at: Instant,
})
export type IdentityProvider = typeof IdentityProvider.static

export const IdentityProviderInput = body({
  issuer: text({ min: 1, max: 2048, rule: isIssuer, fault: 'must be an https URL without query and fragment' }),
  client_id: text({ min: 1, max: 255 }),
  client_secret: optional(
    nullable(text({ min: 1, max: 255, trim: false }), {
      description: 'Null: a public client. Left out: the stored one, while issuer and client_id stay',
    }),
  ),
  redirect_uris: optional(words(10, 'https URLs without fragment', isRedirect)),
  trust_email: optional(flag({ description: 'Take an email that the provider does not call verified' })),
  provision: optional(oneOf(PROVISIONS, { description: 'Who becomes a member by signing in' })),
  domains: optional(words(20, 'domains', (domain) => toDomain(domain) !== undefined)),
  role_claim: optional(nullable(text({ min: 1, max: 255 }), { description: 'The claim that has the role' })),
  role_values: optional(
    Type.Object(
      { admin: optional(words(50, 'values')), agent: optional(words(50, 'values')) },
      { fault: 'must be an object', description: 'Values of the claim for each role; admin comes first' },
    ),
  ),
  session_seconds: optional(
    Type.Integer({ minimum: 300, maximum: 604_800, fault: 'must be a whole number from 300 to 604800' }),
  ),
  required: optional(flag({ description: 'True: for an admin who signed in by this provider' })),
})
export type IdentityProviderInput = typeof IdentityProviderInput.static

/** A parameter of a query; one that is too long is refused. */
const parameter = (most: number, description?: string) =>
  queryValue(
    { type: 'string', maxLength: most },
    (value) => (value.length > 0 && value.length <= most ? value : undefined),
    { fault: `must be text of 1 to ${most} characters`, ...(description && { description }) },
  )

export const StartQuery = query({
  code_challenge: parameter(128, 'SHA-256 of the code_verifier in base64url; required'),
  code_challenge_method: parameter(16, '`S256`'),
  redirect_uri: parameter(2048, 'Where the browser returns to: the console, when it is left out'),
  state: parameter(512, 'Comes back'),
})

export const CallbackQuery = query({
  organization: parameter(64, 'The organization whose provider answers'),
  code: parameter(4096),
  state: parameter(512),
  error: parameter(255),
  iss: parameter(2048),
})

export const ProviderCode = body({
  code: Type.String({ fault: 'must be text', description: 'From the redirect' }),
  code_verifier: Type.String({ fault: 'must be text', description: 'What the code_challenge was made of (PKCE)' }),
})
export type ProviderCode = typeof ProviderCode.static
