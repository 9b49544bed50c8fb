/** `cli doctor --records`: the DNS records of this installation, as a zone file has them, and if they are there. */
import { ignoreProxies } from '../../../base/config'
import { lookupFor } from '../../../base/net/dns'
import { plainLine } from '../../../base/shapes/plain-line'
import type { Checked, State } from '../../../mail/domain-records/checked'
import { MOST, readMailDomains } from '../../../mail/domain-records/mail-domains'
import { recordsOf } from '../../../mail/domain-records/records-of-domain'
import { dropRoot } from '../../start/drop-root'
import { openForDoctor } from '../open'
import { ownRecords } from './own-name'

/** All questions together. */
const LOOKUP_MS = 15_000
/** Characters of a line: a key of 4096 bits has 736. */
const MOST_LENGTH = 1500
/** Characters of a string in a TXT record (RFC 1035, section 3.3). */
const STRING_LENGTH = 255

const MARKS: Record<State, string> = {
  ok: 'ok',
  missing: 'MISSING',
  differs: 'DIFFERS',
  unknown: 'UNKNOWN',
  left: 'not checked',
}

type Group = { title: string; records: Checked[] }

/**
 * Reads the domains of all mailboxes and asks DNS for what they need. Changes nothing.
 * @param format `json` is a line for each record, `text` a zone file with comments
 * @returns what is to be printed, and the exit status: 1 when a record is missing or differs, or DNS does not tell
 */
export async function runRecords(format: 'json' | 'text'): Promise<{ output: string; exit_code: 0 | 1 }> {
  ignoreProxies()
  await dropRoot('refuse')
  const connection = await openForDoctor()
  const found = await readMailDomains(connection)
  const lookup = lookupFor(LOOKUP_MS)
  const domains = await Promise.all(
    found
      .slice(0, MOST)
      .map(async (domain): Promise<Group> => ({ title: titleOf(domain), records: await recordsOf(domain, lookup) })),
  )
  const own: Group = { title: 'this installation (SMTP_HOSTNAME)', records: await ownRecords(lookup) }
  const groups = [...domains, own]
  const is_whole = groups.every(({ records }) => records.every(({ state }) => state === 'ok' || state === 'left'))
  const more = found.length > MOST ? [`; There are more domains: these are the first ${MOST}.`] : []
  const output =
    format === 'json'
      ? groups.flatMap(({ records }) => records.map((record) => JSON.stringify(record))).join('\n')
      : [...groups.map(zoneOf), ...more].join('\n\n')
  return { output, exit_code: is_whole ? 0 : 1 }
}

function titleOf({ domain, organizations, servers, unsigned }: Awaited<ReturnType<typeof readMailDomains>>[number]) {
  const receives = servers.length === 0 ? '. Its mailboxes send nothing' : ''
  const lacking =
    unsigned > 0 ? `. ${unsigned} of its mailboxes sign nothing: PATCH /mailboxes/:id with dkim gives one a key` : ''
  return `${domain} (${organizations.join(', ')})${receives}${lacking}`
}

function zoneOf({ title, records }: Group): string {
  const lines = records.flatMap((record) => {
    const { purpose, state, note, name, type, value } = record
    const comment = `; ${MARKS[state]}: ${purpose}, ${note}`
    const shown = type === 'TXT' && value !== null ? quoted(value) : value
    // A record that is right already is not to be pasted again, and one that nobody here knows cannot be.
    const line = `${name}. IN ${type} ${shown}`
    return value === null ? [comment] : [comment, state === 'ok' ? `; ${line}` : line]
  })
  return [`; ${title}`, ...lines].map((line) => plainLine(line, MOST_LENGTH)).join('\n')
}

/** A TXT value in strings of a length that a record can hold. */
function quoted(value: string): string {
  const strings = value.match(new RegExp(`.{1,${STRING_LENGTH}}`, 'gs')) ?? ['']
  return strings.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(' ')
}
