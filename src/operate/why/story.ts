/** The story of one mail: a title, and what happened, in the order of events. */
import { plainLine } from '../../base/shapes/plain-line'

/** A mail that got a 250, one that was refused, or an answer of the team. */
export type Found = { organization_id: string; kind: 'mail' | 'refused' | 'answer'; id: string }

export type Story = {
  title: string
  /** The time of each event, null for what is so now or has no time. */
  events: [time: string | null, text: string][]
}

/** Addresses that are named; of more the number is told. */
const NAMED = 4
/** Characters of a line. What servers and senders say is cut. */
const MOST_LENGTH = 400

/** Writes a list of addresses. */
export function listed(addresses: string[]): string {
  const all = [...new Set(addresses)]
  const left = all.length - NAMED
  return left > 0 ? `${all.slice(0, NAMED).join(', ')} and ${left} more` : all.join(', ') || 'nobody'
}

/** Names a ticket. */
export function ticketWords({ code, is_deleted }: { code: string | null; is_deleted: boolean }): string {
  if (code === null) return 'a ticket that was removed since'
  return is_deleted ? `${code}, which was deleted since,` : code
}

/** Writes a story as lines. HELO, replies and addresses are words of strangers. */
export function linesOf(organization: string, { title, events }: Story): string[] {
  return [
    `${organization}: ${title}`,
    ...events.map(([time, text]) => `  ${(time ?? '').padEnd('2026-01-31T08:00:00Z'.length)}  ${text}`),
  ].map((line) => plainLine(line, MOST_LENGTH))
}
