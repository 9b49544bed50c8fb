/**
 * Stores how a mailbox gets its tokens. Secrets live like the password: only as long as the server, the provider's
 * address and the client stay for which they were given.
 */
import { newId } from '../../base/db/columns'
import { ApiError, type Fault } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { encrypt } from '../../base/secrets'
import type { NewMailbox } from './model'

type AuthInput = NonNullable<NonNullable<NewMailbox['smtp']>['auth']>
type SignIn = Pick<AuthInput, 'grant'> & {
  token_url: string
  client_id: string
  scope: string | null
  client_secret: string | null
  refresh_token: string | null
}

const SECRETS = ['client_secret', 'refresh_token'] as const
const GIVE_AGAIN =
  'must be given again, or null, when host, port, security, username, grant, token_url or client_id change'

/**
 * Stores what was given, or removes what there is. The caller holds the lock of the organization's mailboxes.
 * @param is_same_server false when the server or the user of the mailbox changes
 * @returns whether something changed; when not, the present access token goes on to be used
 * @throws VALIDATION_ERROR at the secrets that are needed again
 */
export async function storeSignIn(
  scope: Scope,
  mailbox_id: string,
  auth: AuthInput | null,
  is_same_server: boolean,
): Promise<boolean> {
  const stored = await findSignIn(scope, mailbox_id)
  if (!auth) {
    if (stored) await deleteSignIn(scope, mailbox_id)
    return stored !== undefined
  }
  const next = { ...auth, token_url: auth.token_url.trim(), client_id: auth.client_id.trim(), scope: scopeOf(auth) }
  const isSame = (name: 'grant' | 'token_url' | 'client_id' | 'scope') => stored?.[name] === next[name]
  const is_bound = is_same_server && isSame('grant') && isSame('token_url') && isSame('client_id')
  const needed = SECRETS.filter((name) => !is_bound && auth[name] === undefined && stored?.[name])
  const errors: Fault[] = needed.map((name) => ({ path: `/smtp/auth/${name}`, message: GIVE_AGAIN }))
  if (errors.length > 0) throw new ApiError('VALIDATION_ERROR', { errors }, 422)
  if (is_bound && isSame('scope') && SECRETS.every((name) => auth[name] === undefined)) return false
  const secretOf = (name: (typeof SECRETS)[number]) => {
    const given = auth[name]
    if (given === undefined) return stored?.[name] ?? null
    const at = { column: `mailbox_sign_ins.${name}`, organization_id: scope.organization_id, id: mailbox_id } as const
    return given ? encrypt(given, at) : null
  }
  const secrets = { client_secret: secretOf('client_secret'), refresh_token: secretOf('refresh_token') }
  await deleteSignIn(scope, mailbox_id)
  await insertSignIn(scope, mailbox_id, { ...next, ...secrets })
  return true
}

/** Removes it, with the tokens: a fetch that is under way stores nothing then. */
export async function deleteSignIn({ sql, organization_id }: Scope, id: string): Promise<void> {
  await sql`delete from mailbox_sign_ins where organization_id = ${organization_id} and id = ${id}`
}

async function insertSignIn({ sql, organization_id }: Scope, id: string, settings: SignIn): Promise<void> {
  const { grant, token_url, client_id, scope, client_secret, refresh_token } = settings
  await sql`
    insert into mailbox_sign_ins
      (organization_id, id, "grant", token_url, client_id, scope, client_secret, refresh_token, version)
    values (${organization_id}, ${id}, ${grant}, ${token_url}, ${client_id}, ${scope}, ${client_secret},
      ${refresh_token}, ${newId()})`
}

async function findSignIn({ sql, organization_id }: Scope, id: string): Promise<SignIn | undefined> {
  const [stored] = await sql<SignIn[]>`
    select "grant", token_url, client_id, scope, client_secret, refresh_token from mailbox_sign_ins
    where organization_id = ${organization_id} and id = ${id} for update`
  return stored
}

function scopeOf({ scope }: AuthInput): string | null {
  return scope?.trim() || null
}
