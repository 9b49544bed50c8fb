/**
 * Resources: the only list of what an id in a path means. Read by the checks that answer 404, by the locks under
 * If-Match, and by the documented errors.
 */
import { lockAccount } from '../../base/db/account-lock'
import { ApiError, type ErrorCode } from '../../base/errors'
import type { Scope } from '../../base/scope'
import { isShown } from './customers'
import { isCustomer, personId } from './permissions'

type Resource = {
  table: string
  /** The error when the id names nothing: 404 in a path, 422 in a body. */
  code: ErrorCode
  /** The column that holds the id; `id` when it is missing here. */
  key?: string
  /** Another table with such ids, in its column `id`. */
  also?: string
  /**
   * The account of the same id is locked instead. Commands lock an account before the memberships of admins: a
   * request that had locked a membership first would be in a deadlock with them.
   */
  locked_by?: 'users'
  /** The column that is set when the row counts as deleted. */
  deleted?: string
  /** The column with the user who alone knows the row, unless it is shared. */
  private_of?: string
  /** The id of the path that the row belongs to, and its column. */
  parent?: string
  /** The table of rows that became others (`contact_id`): the 404 of an id there says which. */
  merged?: string
  /** Foreign keys to the table. A row may be deleted by another request after it was looked up, before it is used. */
  foreign_keys?: string[]
}

const RESOURCES = {
  ticket_id: { table: 'tickets', code: 'TICKET_NOT_FOUND', deleted: 'deleted_at' },
  message_id: { table: 'messages', code: 'MESSAGE_NOT_FOUND', parent: 'ticket_id' },
  draft_id: { table: 'drafts', code: 'DRAFT_NOT_FOUND', foreign_keys: ['attachments_draft_fk'] },
  macro_id: { table: 'macros', code: 'MACRO_NOT_FOUND', foreign_keys: ['rules_macro_fk'] },
  rule_id: { table: 'rules', code: 'RULE_NOT_FOUND' },
  participant_id: { table: 'participants', code: 'PARTICIPANT_NOT_FOUND', parent: 'ticket_id' },
  attachment_id: { table: 'attachments', code: 'ATTACHMENT_NOT_FOUND' },
  contact_id: {
    table: 'contacts',
    code: 'CONTACT_NOT_FOUND',
    merged: 'merged_contacts',
    foreign_keys: ['tickets_contact_fk', 'contact_tokens_contact_fk'],
  },
  contact_token_id: { table: 'contact_tokens', code: 'CONTACT_TOKEN_NOT_FOUND', parent: 'contact_id' },
  company_id: {
    table: 'companies',
    code: 'COMPANY_NOT_FOUND',
    foreign_keys: ['tickets_company_fk', 'contacts_company_fk'],
  },
  label_id: { table: 'labels', code: 'LABEL_NOT_FOUND', foreign_keys: ['ticket_labels_label_fk'] },
  time_entry_id: { table: 'time_entries', code: 'TIME_ENTRY_NOT_FOUND' },
  webhook_id: { table: 'webhooks', code: 'WEBHOOK_NOT_FOUND', deleted: 'deleted_at' },
  delivery_id: { table: 'deliveries', code: 'DELIVERY_NOT_FOUND', parent: 'webhook_id' },
  user_id: {
    table: 'memberships',
    code: 'USER_NOT_FOUND',
    key: 'user_id',
    also: 'invitations',
    locked_by: 'users',
    deleted: 'removed_at',
    foreign_keys: ['tickets_assignee_fk'],
  },
  mailbox_id: {
    table: 'mailboxes',
    code: 'MAILBOX_NOT_FOUND',
    foreign_keys: ['inbound_messages_mailbox_fk', 'tickets_mailbox_fk'],
  },
  team_id: { table: 'teams', code: 'TEAM_NOT_FOUND', foreign_keys: ['tickets_team_fk', 'mailboxes_team_fk'] },
  schedule_id: { table: 'schedules', code: 'SCHEDULE_NOT_FOUND', foreign_keys: ['sla_policies_schedule_fk'] },
  sla_policy_id: { table: 'sla_policies', code: 'SLA_POLICY_NOT_FOUND' },
  domain_id: { table: 'domains', code: 'DOMAIN_NOT_FOUND' },
  api_key_id: { table: 'api_keys', code: 'API_KEY_NOT_FOUND', deleted: 'revoked_at' },
  view_id: { table: 'views', code: 'VIEW_NOT_FOUND', private_of: 'owner_id' },
  sender_rule_id: { table: 'sender_rules', code: 'SENDER_RULE_NOT_FOUND' },
  inbound_message_id: { table: 'inbound_messages', code: 'INBOUND_MESSAGE_NOT_FOUND' },
} as const satisfies Record<string, Resource>

/** The name of an id as it stands in paths: `ticket_id` in `/tickets/:ticket_id`. */
export type ResourceId = keyof typeof RESOURCES

/** Tells whether a path parameter of this name has a resource. */
export function isResourceId(name: string): name is ResourceId {
  return Object.hasOwn(RESOURCES, name)
}

/** Names in paths that are no ids of ours: the command looks up what they name. */
const OTHER_NAMES = ['external_id']

/** Tells whether the path of a route in an organization may have a parameter of this name. */
export function isPathName(name: string): boolean {
  return isResourceId(name) || OTHER_NAMES.includes(name)
}

/** The error when the id of this name names nothing. */
export function notFoundCode(name: ResourceId): ErrorCode {
  return RESOURCES[name].code
}

/**
 * The error when a row that a request names was deleted while it ran.
 * @param foreign_key the name of the constraint that the database says is violated
 */
export function notFoundCodeOf(foreign_key: string): ErrorCode | undefined {
  const resources: Resource[] = Object.values(RESOURCES)
  return resources.find(({ foreign_keys = [] }) => foreign_keys.includes(foreign_key))?.code
}

/** Checks that every id of a path names a row. @throws the 404 of the first that names nothing in the organization */
export function requirePath(scope: Scope, params: Record<string, string>): Promise<void> {
  return findRows(scope, params)
}

/**
 * As `requirePath`, and locks the rows until the transaction ends, against changes but not against rows that refer to
 * them. A path without ids is about the organization: its row is locked then.
 */
export async function lockPath(scope: Scope, params: Record<string, string>): Promise<void> {
  const { sql, organization_id } = scope
  if (Object.keys(params).length > 0) return findRows(scope, params, sql`for no key update`)
  await sql`select from organizations where id = ${organization_id} for no key update`
}

async function findRows(scope: Scope, params: Record<string, string>, lock?: ReturnType<Scope['sql']>): Promise<void> {
  const { sql, organization_id } = scope
  for (const [name, id] of Object.entries(params)) {
    if (OTHER_NAMES.includes(name)) continue
    if (!isResourceId(name)) throw new Error(`${name} is no id that http/request/resources.ts knows`)
    const { table, key = 'id', also, locked_by, code, deleted, parent, merged, private_of }: Resource = RESOURCES[name]
    if (lock && locked_by) await lockAccount({ sql }, id)
    const found = await sql`
      select from ${sql(table)}
      where organization_id = ${organization_id} and ${sql(key)} = ${id}
        ${deleted ? sql`and ${sql(deleted)} is null` : sql``}
        ${private_of ? sql`and (shared or ${sql(private_of)} = ${personId(scope)})` : sql``}
        ${parent ? sql`and ${sql(parent)} = ${params[parent] ?? null}` : sql``}
        ${name === 'ticket_id' && isCustomer(scope) ? sql`and ${isShown(scope, 'tickets')}` : sql``}
      ${lock && !locked_by ? lock : sql``}`
    if (found.length > 0) continue
    const others = also
      ? await sql`select from ${sql(also)} where organization_id = ${organization_id} and id = ${id} ${lock ?? sql``}`
      : []
    if (others.length > 0) continue
    const [now] = merged
      ? await sql<{ id: string }[]>`
          select contact_id as id from ${sql(merged)} where organization_id = ${organization_id} and id = ${id}`
      : []
    throw new ApiError(code, now && { merged_into: { id: now.id } })
  }
}
