/** The members of the organization, for choices. */
import type { User } from '../../../people/users/model'
import type { Api } from '../api'
import { readRows } from '../lists'
import { useLive } from '../live'

const EVERY_MS = 300_000
/** More would not fit a choice. */
const MOST = 1000

/** Members and invited people; none until they are read. */
export function useUsers(api: Api): User[] {
  const live = useLive<User[]>(
    `users ${api.organization_id}`,
    async (_before, signal) => (await readRows<User>(api, '/users', {}, MOST, signal)).rows,
    EVERY_MS,
  )
  return live.value ?? []
}
