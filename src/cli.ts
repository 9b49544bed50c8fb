/**
 * Runs one command of the operator: `bun run cli <command>`. Every command works beside a running service. What only
 * one command needs is imported by it, where it is a third of the start of all others.
 */
import { toDomain } from './base/address/domains'
import { NO_LIMITS } from './base/db/driver-client'
import { connection } from './base/db/pool'
import type { Connection } from './base/db/transact'
import { safeError } from './base/log'
import { build } from './base/process/build'
import { SYSTEM } from './base/scope'
import { GRANTS } from './http/request/permissions'
import { allowDomain } from './mail/domains/commands'
import { BACKUP_COMMANDS } from './operate/backup/backup-commands'
import { CONTINUOUS_COMMANDS } from './operate/continuous/continuous-commands'
import { CONVERT_COMMANDS } from './operate/convert/convert-command'
import { DOCTOR_COMMAND } from './operate/doctor/doctor-command'
import { IMPORT_COMMANDS } from './operate/import/import-command'
import { PROFILE_COMMAND } from './operate/profile/profile-command'
import { ACCOUNT_COMMANDS } from './operate/start/account-commands'
import {
  type Command,
  emailOption,
  help,
  type Options,
  readCommandLine,
  requiredOption,
  UsageError,
} from './operate/start/command-line'
import { openDatabase, planDatabase } from './operate/start/database'
import { DISTRIBUTE_COMMAND } from './operate/start/distribute-command'
import { dropRoot } from './operate/start/drop-root'
import { exitWith } from './operate/start/exit'
import { organizationOption } from './operate/start/organization-option'
import { OUTBOX_COMMANDS } from './operate/start/outbox-commands'
import { givenPassword } from './operate/start/password-input'
import { PSQL_COMMAND } from './operate/start/psql'
import { reportSettings, settingsMarkdown, settingsText } from './operate/start/report'
import { rotateSecrets } from './operate/start/rotate-secrets'
import { WHY_COMMAND } from './operate/why/why-command'
import { createApiKeyForOperator } from './people/api-keys/commands'
import { findFault } from './people/api-keys/model'
import { makeProviderOptional } from './people/identity/commands'
import { renewLinks } from './people/invitations/commands'
import { createOrganization } from './people/organizations/commands'
import { listOrganizations } from './people/organizations/queries'

const COMMANDS: Command[] = [
  {
    name: 'organization create',
    options: '--name NAME --admin-email EMAIL [--admin-name NAME] [--admin-password-stdin] [--admin-password PASSWORD]',
    meaning:
      'Creates an organization with its first admin. Prints the password when it was generated. A person of another organization is invited instead, and the link is printed.',
    needs: 'new database',
    run: createOrganizationWith,
  },
  {
    name: 'organization list',
    meaning: 'Prints every organization with the number of its members.',
    needs: 'database',
    run: (_options, connection) => listOrganizations(connection),
  },
  ...ACCOUNT_COMMANDS,
  {
    name: 'invitation link',
    options: '--email EMAIL',
    meaning:
      'Makes a new link for each invitation of an address; the link of before ends. Give it to that person alone: it opens the account.',
    needs: 'database',
    run: makeLinks,
  },
  {
    name: 'identity-provider optional',
    options: '--organization ID',
    meaning: 'Lets members of an organization sign in with a password again, beside its identity provider.',
    needs: 'database',
    run: makeOptional,
  },
  {
    name: 'domain allow',
    options: '--organization ID --domain DOMAIN',
    meaning: 'Verifies the domain of mailboxes for an organization, without a DNS record.',
    needs: 'database',
    run: allowDomainFor,
  },
  {
    name: 'api-key create',
    options: '--organization ID --name NAME --permissions WORDS [--networks CIDRS]',
    meaning:
      'Makes an API key and prints it once. Words and networks are separated by commas: tickets:read,contacts:write.',
    needs: 'database',
    run: makeApiKey,
  },
  {
    name: 'migrate',
    options: '[--plan]',
    meaning:
      'Brings the database to the schema of this release, and prints what it did. --plan only prints what would be done: which tables it would lock and read, the disk that it needs, and what is in its way. It ends with 1 when that stops it.',
    needs: 'nothing',
    run: migrate,
  },
  DISTRIBUTE_COMMAND,
  ...CONTINUOUS_COMMANDS,
  ...BACKUP_COMMANDS,
  ...IMPORT_COMMANDS,
  ...CONVERT_COMMANDS,
  PSQL_COMMAND,
  ...OUTBOX_COMMANDS,
  DOCTOR_COMMAND,
  WHY_COMMAND,
  PROFILE_COMMAND,
  {
    name: 'secrets rotate',
    meaning: 'Encrypts all stored secrets with the present SECRET_KEY. Prints how many, and how many no key fits.',
    needs: 'database',
    run: (_options, connection) => rotateSecrets(connection),
  },
  {
    name: 'settings',
    options: '[--json] [--markdown]',
    meaning:
      'Prints every setting: present value and its source, default, meaning. --markdown is the table of the guide.',
    needs: 'nothing',
    run: ({ json, markdown }) => (json ? reportSettings() : markdown ? settingsMarkdown() : settingsText()),
  },
  { name: 'version', meaning: 'Prints version and commit.', needs: 'nothing', run: () => build },
  { name: 'help', meaning: 'Prints this list.', needs: 'nothing', run: () => help(COMMANDS) },
]

main(process.argv.slice(2)).then(
  () => process.exit(),
  (error) => exitWith(error, (error) => JSON.stringify(safeError(error))),
)

async function main(args: string[]): Promise<void> {
  const { command, options, rest } = readCommandLine(args, COMMANDS)
  if (command.needs === 'nothing') return print(await command.run(options, rest))
  const { needs, pool_size = 2 } = command
  const no_database = needs === 'new database' ? 'create' : 'refuse'
  await dropRoot(no_database)
  const database = await openDatabase({ other_service: 'join', no_database, pool_size, limits: NO_LIMITS })
  try {
    print(await command.run(options, connection()))
  } finally {
    await database.close()
  }
}

function print(result: unknown): void {
  if (result === undefined) return
  const rows = Array.isArray(result) ? result : [result]
  for (const row of rows) process.stdout.write(`${typeof row === 'string' ? row : JSON.stringify(row)}\n`)
}

async function migrate({ plan }: Options): Promise<unknown[]> {
  await dropRoot(plan ? 'refuse' : 'create')
  if (plan) {
    const { steps, obstacles } = await planDatabase()
    if (obstacles.some(({ stops }) => stops)) process.exitCode = 1
    const sum = (figure: 'about_s' | 'disk_bytes') => steps.reduce((sum, step) => sum + step[figure], 0)
    return [...steps, ...obstacles, { missing: steps.length, about_s: sum('about_s'), disk_bytes: sum('disk_bytes') }]
  }
  const database = await openDatabase({ other_service: 'join', no_database: 'create', pool_size: 1, limits: NO_LIMITS })
  await database.close()
  return [...database.migrated, { migrated: database.migrated.length }]
}

async function createOrganizationWith(options: Options, connection: Connection): Promise<unknown> {
  const name = requiredOption(options, 'name')
  const email = emailOption(options, 'admin-email')
  const password = await givenPassword(options, 'admin-password')
  const admin_name = options['admin-name'] ?? email.split('@')[0]!
  const created = await createOrganization(connection, { name, admin: { email, name: String(admin_name), password } })
  const { type, ...admin } = created.admin
  return { id: created.id, name, admin: { ...admin, ...(type === 'invited' && { status: type }) } }
}

async function makeLinks(options: Options, connection: Connection): Promise<unknown> {
  const email = emailOption(options, 'email')
  const invitations = await renewLinks(connection, email)
  if (invitations.length === 0) throw new UsageError(`there is no invitation for the email ${email}`)
  return invitations
}

async function makeOptional(options: Options, connection: Connection): Promise<unknown> {
  const organization_id = await organizationOption(options, connection)
  return { optional: await makeProviderOptional({ ...connection, organization_id, actor: SYSTEM }) }
}

async function allowDomainFor(options: Options, connection: Connection): Promise<unknown> {
  const organization_id = await organizationOption(options, connection)
  const domain = toDomain(requiredOption(options, 'domain'))
  if (!domain) throw new UsageError('--domain must be a domain such as example.com')
  const allowed = await allowDomain({ ...connection, organization_id, actor: SYSTEM }, domain)
  return { id: allowed.id, domain, status: allowed.status }
}

/** Options by the fields of a new API key, and what is said of a wrong word in a list. */
const KEY_OPTIONS: Record<string, { option: string; of_word?: string }> = {
  name: { option: 'name' },
  permissions: { option: 'permissions', of_word: `; there are ${GRANTS.join(', ')}` },
  allowed_networks: { option: 'networks', of_word: ', which is not a network' },
}

async function makeApiKey(options: Options, connection: Connection): Promise<unknown> {
  const organization_id = await organizationOption(options, connection)
  const name = requiredOption(options, 'name')
  const given = valuesOf(requiredOption(options, 'permissions'))
  const allowed_networks = valuesOf(options.networks)
  const fault = findFault({ name, permissions: given, allowed_networks })
  if (fault) {
    const [, field, place] = fault.path.split('/')
    const { option, of_word } = KEY_OPTIONS[field!]!
    const word = place && valuesOf(options[option])[Number(place)]
    throw new UsageError(`--${option} ${word ? `holds ${word}${of_word}` : fault.message}`)
  }
  const permissions = GRANTS.filter((grant) => given.includes(grant))
  const input = { name, permissions, allowed_networks }
  const scope = { ...connection, organization_id, actor: SYSTEM }
  const created = await createApiKeyForOperator(scope, input)
  const { id, prefix, key } = created
  return { id, name, prefix, permissions, allowed_networks, key }
}

function valuesOf(option: string | boolean | undefined): string[] {
  return typeof option === 'string' ? option.split(',').flatMap((word) => word.trim() || []) : []
}
