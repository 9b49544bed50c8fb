import { Type } from '@sinclair/typebox'
import { type NOTIFY_REASONS, NOTIFY_WAYS, ROLES } from '../../base/db/schema'
import { Instant, orNull, Uuid, unchecked } from '../../base/shapes/answers'
import { body, flag, nameInput, oneOf, optional, text } from '../../base/shapes/fields'

export const Credentials = body({
  email: Type.String({ fault: 'must be text', examples: ['admin@example.com'] }),
  password: Type.String({ fault: 'must be text' }),
})

/** A code of the app of a second factor, or a recovery code. */
export const CodeInput = Type.String({
  fault: 'must be text',
  description: '6 digits of the app, or a recovery code',
  examples: ['123456'],
})

export const SecondStep = body({
  challenge: Type.String({ fault: 'must be text', description: 'From the details of SECOND_FACTOR_REQUIRED' }),
  code: CodeInput,
})

const accessToken = Type.String({ description: 'JWT for the Authorization header' })
const tokenType = Type.Literal('bearer', { description: 'How to send it: `Authorization: Bearer <access_token>`' })
const expiresIn = Type.Integer({ description: 'Seconds until the access token expires' })

export const Tokens = unchecked(
  Type.Object({
    access_token: accessToken,
    refresh_token: Type.String({ description: 'For POST /auth/refresh, 7 days' }),
    token_type: tokenType,
    expires_in: expiresIn,
    user: Type.Object({ id: Uuid, email: Type.String(), name: Type.String() }),
  }),
)

export type Tokens = typeof Tokens.static

export const RefreshToken = body({ refresh_token: Type.String({ fault: 'must be text' }) })

export const AccessToken = unchecked(
  Type.Object({ access_token: accessToken, token_type: tokenType, expires_in: expiresIn }),
)
export type AccessToken = typeof AccessToken.static

/** The reasons for which a member is told of a ticket, in words. */
const REASONS = {
  assigned: 'A ticket is assigned to you',
  reply_on_mine: 'A customer writes on a ticket that is assigned to you',
  mentioned: 'A note names you',
  new_unassigned: 'A ticket is opened that nobody is assigned to',
  draft_kept: 'A draft of yours could not be sent at its time',
} satisfies Record<(typeof NOTIFY_REASONS)[number], string>

const wayOf = (reason: (typeof NOTIFY_REASONS)[number]) => oneOf(NOTIFY_WAYS, { description: REASONS[reason] })

const Notify = Type.Object(
  {
    assigned: wayOf('assigned'),
    reply_on_mine: wayOf('reply_on_mine'),
    mentioned: wayOf('mentioned'),
    new_unassigned: wayOf('new_unassigned'),
    draft_kept: wayOf('draft_kept'),
  },
  { description: 'How you are told of tickets: in the organization that `X-Organization-Id` names, else the first' },
)

export const Me = unchecked(
  Type.Object({
    id: Uuid,
    email: Type.String(),
    name: Type.String(),
    organizations: Type.Array(
      Type.Object({ id: Uuid, name: Type.String(), role: oneOf(ROLES, { description: 'In this organization' }) }),
      { description: 'Oldest membership first: the first one is meant when a request names none' },
    ),
    available: optional(
      Type.Boolean({
        description:
          'Whether teams may give the caller tickets, in the organization that `X-Organization-Id` names or else the ' +
          "first one; absent when that is not the caller's",
      }),
    ),
    notify: Type.Optional(Notify),
  }),
)
export type Me = typeof Me.static

export const Session = Type.Object({
  id: Uuid,
  created_at: Instant,
  last_used_at: orNull(Instant, { description: 'Sign-in, or the last new access token' }),
  ip: orNull(Type.String({ description: 'Address of the client at the last use' })),
  user_agent: orNull(Type.String({ description: 'What the client called itself at the last use' })),
  current: Type.Boolean({ description: 'Whether the request comes from this session' }),
})
export type Session = typeof Session.static

export const Password = text({ min: 8, max: 200, trim: false, description: '8 to 200 characters' })

export const ForgottenPassword = body({ email: Type.String({ fault: 'must be text' }) })

export const PasswordReset = body({
  token: Type.String({ fault: 'must be text', description: 'From the link of the email' }),
  new_password: Password,
})

export const MeChanges = body({
  name: optional(nameInput()),
  current_password: optional(Type.String({ fault: 'must be text' })),
  new_password: optional(Password),
  available: optional(
    flag({ description: 'In the organization that `X-Organization-Id` names, or else the first one' }),
  ),
  notify: optional(
    Type.Partial(Notify, {
      additionalProperties: true,
      fault: 'must be an object',
      description: 'Of the organization that `X-Organization-Id` names, else the first. What is absent stays',
    }),
  ),
})
export type MeChanges = typeof MeChanges.static
