import { Type } from '@sinclair/typebox'
import { ROLES } from '../../base/db/schema'
import { body, nameInput, oneOf, optional } from '../../base/shapes/fields'
import { CodeInput } from '../auth/model'

export const InvitationToken = Type.Object({ token: Type.String({ description: 'From the link of the invitation' }) })

export const Invitation = Type.Object({
  organization: Type.Object({ name: Type.String() }, { description: 'The organization that invites' }),
  role: oneOf(ROLES, { description: 'In this organization' }),
  email: Type.String(),
  needs_password: Type.Boolean({
    description: 'True: accepting sets a new password. False: it asks for the password of the account',
  }),
  needs_current_password: Type.Boolean({
    description: 'True: accepting sets a new password, and asks for the present one of the account too',
  }),
})
export type Invitation = typeof Invitation.static

export const Acceptance = body({
  password: Type.String({
    fault: 'must be text',
    description: 'With `needs_password` a new one of 8 to 200 characters, else that of the account',
  }),
  name: optional(nameInput({ description: 'Of the account, when accepting sets its password' })),
  current_password: optional(Type.String({ fault: 'must be text', description: 'With `needs_current_password`' })),
  code: optional({
    ...CodeInput,
    description: 'After `SECOND_FACTOR_REQUIRED`: 6 digits of the app, or a recovery code',
  }),
})
export type Acceptance = typeof Acceptance.static
