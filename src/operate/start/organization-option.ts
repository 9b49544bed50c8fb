import type { Connection } from '../../base/db/transact'
import { isUuid } from '../../base/shapes/ids'
import { listOrganizations } from '../../people/organizations/queries'
import { type Options, requiredOption, UsageError } from './command-line'

/** Reads the option --organization of a command. @throws UsageError when it names none */
export async function organizationOption(options: Options, connection: Connection): Promise<string> {
  const organization_id = requiredOption(options, 'organization').toLowerCase()
  if (!isUuid(organization_id)) throw new UsageError('--organization must be a UUID')
  const organizations = await listOrganizations(connection)
  if (!organizations.some(({ id }) => id === organization_id)) throw new UsageError('there is no such organization')
  return organization_id
}
