/**
 * Knows which machines of the cluster do not answer, and the organizations whose rows they have.
 *
 * Nothing is sent to such a machine. One that hangs, instead of refusing, keeps the connection of each statement that
 * is sent to it, even when its time is over: the coordinator waits until the machine has taken the cancellation. A few
 * seconds of requests would take every connection of the service, and with them the organizations of all other
 * machines.
 */

/** A machine of the cluster beside the coordinator; its name is host and port. */
export type Machine = { name: string; is_up: boolean }

/** Has PostgreSQL's code for a connection that cannot be made, as the driver's errors have. */
class MachineAwayError extends Error {
  readonly code = '08006'
  override readonly name = 'MachineAwayError'
}

let machines: readonly Machine[] = []
let waiting: ReadonlySet<string> = new Set()

/**
 * Replaces what is known.
 * @param all the machines of the cluster; none without one
 * @param organization_ids those whose rows are on the machines that are not up
 */
export function setMachines(all: readonly Machine[], organization_ids: Iterable<string>): void {
  machines = all
  waiting = new Set(organization_ids)
}

/** The machines as they were seen last. */
export function knownMachines(): readonly Machine[] {
  return machines
}

/** Names of the machines that do not answer. */
export function machinesAway(): string[] {
  return machines.filter(({ is_up }) => !is_up).map(({ name }) => name)
}

/** Fails as a statement would, when the machine of an organization does not answer. @throws MachineAwayError */
export function requireMachine(organization_id: string): void {
  if (isAway(organization_id)) throw new MachineAwayError('the machine of the organization does not answer')
}

/** Tells if the machine of an organization does not answer. */
export function isAway(organization_id: string): boolean {
  return waiting.has(organization_id)
}
