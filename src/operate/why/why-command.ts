/** The command why: what became of a mail or an answer. It reads what was noted of it, never what it says. */
import type { Connection } from '../../base/db/transact'
import { OperatorError } from '../../base/errors'
import { timeOf } from '../../base/shapes/time'
import { listOrganizations } from '../../people/organizations/queries'
import { type Command, type Options, UsageError } from '../start/command-line'
import { findMail, madeAt, readingsOf, type Sought } from './find-mail'
import { type Found, linesOf } from './story'
import { tellAnswer } from './tell-answer'
import { tellMail, tellRefused } from './tell-mail'

/** Mails that are told of. */
const SHOWN = 5

const TELLERS = { mail: tellMail, refused: tellRefused, answer: tellAnswer }

export const WHY_COMMAND: Command = {
  name: 'why',
  options: 'MAIL [--at TIME]',
  meaning:
    'Says what became of mail and answers, in all organizations. MAIL is a Message-ID, an address, the code of a ticket, the id in the reply 250, or a time. Shows the newest, or those next to a time. Ends with 1 when nothing is found.',
  needs: 'database',
  run: why,
}

/** @throws UsageError; OperatorError when nothing is found */
async function why({ mail, at }: Options, connection: Connection): Promise<string> {
  const readings = readingsOf(String(mail))
  if (readings.length === 0) {
    throw new UsageError('MAIL must be a Message-ID, an address, a ticket code, an id or a time')
  }
  const time = at ?? (readings[0]!.kind === 'time' ? mail : undefined)
  const at_ms = typeof time === 'string' ? timeOf(time) : undefined
  if (at !== undefined && at_ms === undefined) {
    throw new UsageError('--at must be a time with offset, such as 2026-01-31T08:00:00Z')
  }
  for (const sought of readings) {
    const found = await findMail(connection, sought, at_ms)
    if (found.length > 0) return tell(connection, found, at_ms)
  }
  throw new OperatorError(nothingOf(readings, typeof at === 'string' ? at : undefined))
}

async function tell(connection: Connection, found: Found[], at_ms: number | undefined): Promise<string> {
  const shown = found.slice(0, SHOWN).toSorted((one, other) => madeAt(one) - madeAt(other))
  const names = new Map((await listOrganizations(connection)).map(({ id, name }) => [id, `${name} (${id})`]))
  const lines: string[] = []
  for (const one of shown) {
    const { organization_id, kind } = one
    const story = await TELLERS[kind](connection, one)
    lines.push(...linesOf(names.get(organization_id) ?? organization_id, story))
  }
  if (found.length > SHOWN) {
    const which = at_ms === undefined ? 'the newest: --at TIME shows those of a day' : 'those next to that time'
    lines.push(`There are more; these are ${which}.`)
  }
  return lines.join('\n')
}

function nothingOf(readings: Sought[], at: string | undefined): string {
  const what = readings.map(({ kind, text }) => `${kind} ${text}`).join(' or the ')
  return (
    `nothing is known of the ${what}${at === undefined ? '' : ` within a day of ${at}`}: neither among mail that was taken, nor ` +
    'among mail that was refused for good in the last 30 days, nor among answers. Mail that was refused for the moment, or at ' +
    'a domain that no organization has alone, stands in the log as "smtp refusal"'
  )
}
