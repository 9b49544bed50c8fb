/**
 * Lets the database itself separate organizations (`bun run test:rls`): requests run as a role that may see and write
 * only the rows of the organization that its connection names. A statement that reaches for others fails.
 */
import { readConnectionUrl } from '../../src/base/db/connection-url'
import { type Client, NO_LIMITS, openClient, openOrm } from '../../src/base/db/driver-client'
import type { Connection } from '../../src/base/db/transact'
import { runOnDatabase } from './on-server'
import { TENANT_TABLES } from './tenant-tables'

/** Set by the test runner. */
export const POLICED = 'DESKWIRE_TEST_POLICED'

const COMMANDS = ['select', 'insert', 'update', 'delete'] as const
type Command = (typeof COMMANDS)[number]

/**
 * The deeds that requests may do with rows of other organizations, too, because they decide one thing for all
 * organizations.
 */
const SHARED: { table: string; may: Command[]; why: string }[] = [
  { table: 'invitations', may: ['select'], why: 'an account is not changed while another organization waits for it' },
  { table: 'memberships', may: ['select'], why: 'an account is shared: its sessions end with the last membership' },
  {
    table: 'mailboxes',
    may: ['select', 'update'],
    why: 'an address belongs to one mailbox of all, and passes to the next',
  },
  { table: 'domains', may: ['select', 'update'], why: 'who proves a domain takes it from the one who had it' },
  { table: 'released_addresses', may: ['select'], why: 'an address that another organization gave up is kept for it' },
  {
    table: 'audit_log',
    may: ['insert'],
    why: 'all organizations of an account, or of a domain, list what became of it',
  },
]

const ROLE = 'deskwire_policed'
const PASSWORD = 'policed'
const SETTING = 'app.organization_id'

/** Connections of one organization at most. */
const CONNECTIONS = 3
/** Tests make many organizations: unused connections are closed. */
const IDLE_S = 1

/**
 * Makes the role and its policies, in the database that those of the tests are copies of. A policy that only hid the
 * rows of others would make a statement right that forgets its organization. This one ends a statement as soon as it
 * sees such a row. The condition `organization_id = $1` is asked before it, because comparing ids is leakproof and
 * costs less.
 */
export async function addPolicies(url: string): Promise<void> {
  const policies = [...TENANT_TABLES].flatMap(([table, column]) => [
    `alter table ${table} enable row level security`,
    ...COMMANDS.map((command) => {
      const row = SHARED.some((shared) => shared.table === table && shared.may.includes(command))
        ? 'true'
        : `is_own('${table}', ${column})`
      const rules = { using: `using (${row})`, check: `with check (${row})` }
      const rule = {
        select: rules.using,
        insert: rules.check,
        update: `${rules.using} ${rules.check}`,
        delete: rules.using,
      }
      return `create policy own_${command} on ${table} for ${command} ${rule[command]}`
    }),
  ])
  await runOnDatabase(url, (sql) =>
    sql.unsafe(`
      create function is_own(name text, organization_id uuid) returns boolean stable language plpgsql as $$ begin
        if organization_id = nullif(current_setting('${SETTING}', true), '')::uuid then return true; end if;
        raise 'a statement for one organization sees % of another', name;
      end $$;
      create role ${ROLE} login password '${PASSWORD}';
      grant select, insert, update, delete on all tables in schema public to ${ROLE};
      grant usage on all sequences in schema public to ${ROLE};
      grant pg_read_all_stats to ${ROLE};
      ${policies.join(';')}`),
  )
}

const clients = new Map<string, Client>()

/** The options of `connectDatabase` that give each organization connections of the role, in a run with policies. */
export function policedOptions(url: string): { ofOrganization?(organization_id: string): Connection } {
  if (!process.env[POLICED]) return {}
  const policed = Object.assign(new URL(url), { username: ROLE, password: PASSWORD })
  const given = { ...readConnectionUrl(policed.href), idle_timeout: IDLE_S }
  const open = new Map<string, Connection>()
  return {
    ofOrganization(organization_id) {
      let connection = open.get(organization_id)
      if (!connection) {
        const client = openClient({ ...given, connection: { [SETTING]: organization_id } }, CONNECTIONS, NO_LIMITS)
        connection = { db: openOrm(client), sql: client }
        clients.set(organization_id, client)
        open.set(organization_id, connection)
      }
      return connection
    },
  }
}

/** Closes the connections of all organizations. */
export async function closePoliced(): Promise<void> {
  await Promise.all([...clients.values()].map((client) => client.end({ timeout: 1 })))
  clients.clear()
}
