/**
 * The outbox handler of kind rule: applies the rules that a change started to its ticket, in their order. The deed of a
 * rule and the note that it is done are one transaction, so that it is done once, however often the work is tried.
 */
import type { Connection } from '../../base/db/transact'
import { ApiError } from '../../base/errors'
import { type Actor, inTransaction, type RuleName, type Scope, SYSTEM } from '../../base/scope'
import type { OutboxHandler, OutboxJob, Outcome } from '../../delivery/outbox/job'
import { makeMacro, writeMacro } from '../macros/commands'
import type { Macro } from '../macros/model'
import { getMacro } from '../macros/queries'
import { findMailbox } from '../messages/addressees'
import { withHeld } from '../messages/written-text'
import { mayAnswer } from './may-answer'
import { noteFailure } from './rule-failure'

/** Seconds before a ticket that refused a rule is tried again; then the rule has failed there. */
const DELAYS_S = [1, 5]

/** Refusals of a ticket that is not there any more: nothing is to be done, and nothing has failed. */
const GONE = ['TICKET_NOT_FOUND', 'TICKET_MERGED']

/** The rule that is next in a run. Its macro is null when it is switched off, or gone. */
type Next = {
  rule: RuleName
  macro_id: string | null
  has_failed: boolean
  ticket_id: string
  message_id: string | null
}

async function attempt({ organization_id, id }: OutboxJob, connection: Connection): Promise<Outcome> {
  const scope: Scope = { ...connection, organization_id, actor: SYSTEM }
  for (let next = await findNext(scope, id); next; next = await findNext(scope, id)) {
    const delay_s = await applyNext(scope, id, next)
    if (delay_s !== undefined) return { type: 'retry', delay_s, counts: false }
  }
  return { type: 'done' }
}

export const ruleHandler: OutboxHandler = { attempt, giveUp }

/** Ends a run that ended its worker again and again. */
function giveUp({ organization_id, id }: OutboxJob): Outcome {
  return {
    type: 'done',
    settle: async ({ sql }) => {
      await sql`delete from rule_runs where organization_id = ${organization_id} and id = ${id}`
    },
  }
}

async function findNext({ sql, organization_id }: Scope, id: string): Promise<Next | undefined> {
  const [next] = await sql<Next[]>`
    select json_build_object('id', x.rule_ids[1], 'name', r.name) as rule, r.macro_id,
      coalesce(cardinality(r.failed_ticket_ids), 0) > 0 as has_failed, x.ticket_id, x.message_id
    from rule_runs x
    left join rules r on r.organization_id = ${organization_id} and r.id = x.rule_ids[1] and r.active
      and r.status = 'active'
    where x.organization_id = ${organization_id} and x.id = ${id}`
  return next
}

/** Applies a rule, or notes that it could not be. @returns the seconds until it is tried again */
async function applyNext(scope: Scope, id: string, next: Next): Promise<number | undefined> {
  const { rule, macro_id, ticket_id } = next
  if (macro_id === null) return void (await inTransaction(scope, (inner) => endRule(inner, id, rule.id)))
  try {
    const by = { ...scope, actor: await actorOf(scope, rule, ticket_id) }
    const macro = await getMacro(by, macro_id)
    const text = await writeMacro(by, macro, ticket_id)
    await withHeld(by, text?.held ?? [], () =>
      inTransaction(by, async (inner) => {
        if (!(await holdNext(inner, id, next, macro))) return
        await makeMacro(inner, macro, ticket_id, text, (ticket) => mayAnswer(inner, rule.id, ticket, next.message_id))
        if (next.has_failed) await clearFailures(inner, rule.id)
        await endRule(inner, id, rule.id)
      }),
    )
  } catch (error) {
    // Tries again when the service cannot do it at the moment.
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    // It was deleted meanwhile, and the rule is switched off.
    if (error.code === 'MACRO_NOT_FOUND') return undefined
    return inTransaction(scope, (inner) => noteTry(inner, id, next, error))
  }
}

/** The service as it follows a rule. It writes in the name of the mailbox that would send. */
async function actorOf(scope: Scope, rule: RuleName, ticket_id: string): Promise<Actor> {
  const { sql, organization_id } = scope
  const [ticket] = await sql<{ id: string; mailbox_id: string | null; contact_id: string | null }[]>`
    select id, mailbox_id, contact_id from tickets
    where organization_id = ${organization_id} and id = ${ticket_id} and deleted_at is null`
  if (!ticket) throw new ApiError('TICKET_NOT_FOUND')
  const mailbox = await findMailbox(scope, { ...ticket, contact_name: null, contact_email: null })
  const name = mailbox ? mailbox.mailbox_name || mailbox.address : SYSTEM.name
  return { type: 'system', id: null, name, email: null, rule }
}

/**
 * Keeps the run, the rule and its macro as they are until the transaction ends.
 * @returns false when the rule is done already, or the rule or its macro was changed meanwhile
 */
async function holdNext(scope: Scope, id: string, { rule, has_failed }: Next, macro: Macro): Promise<boolean> {
  const { sql, organization_id } = scope
  const run = await sql`
    select from rule_runs
    where organization_id = ${organization_id} and id = ${id} and rule_ids[1] = ${rule.id} for update`
  if (run.length === 0) return false
  const rules = await sql`
    select from rules
    where organization_id = ${organization_id} and id = ${rule.id} and active and status = 'active'
      and macro_id = ${macro.id} ${has_failed ? sql`for no key update` : sql`for share`}`
  if (rules.length === 0) return false
  await sql`select from macros where organization_id = ${organization_id} and id = ${macro.id} for share`
  return JSON.stringify(await getMacro(scope, macro.id)) === JSON.stringify(macro)
}

async function clearFailures({ sql, organization_id }: Scope, rule_id: string): Promise<void> {
  await sql`
    update rules set failed_ticket_ids = '{}' where organization_id = ${organization_id} and id = ${rule_id}`
}

/** Notes that a ticket refused a rule. @returns the seconds until it is tried again */
async function noteTry(scope: Scope, id: string, next: Next, error: ApiError): Promise<number | undefined> {
  const { sql, organization_id } = scope
  const { rule, ticket_id } = next
  const [run] = await sql<{ tries: number }[]>`
    update rule_runs set tries = tries + 1
    where organization_id = ${organization_id} and id = ${id} and rule_ids[1] = ${rule.id}
    returning tries`
  if (!run) return undefined
  const is_gone = GONE.includes(error.code)
  const delay_s = DELAYS_S[run.tries - 1]
  if (!is_gone && delay_s !== undefined) return delay_s
  await endRule(scope, id, rule.id)
  if (!is_gone) await noteFailure(scope, rule, ticket_id, `${error.code}: ${error.message}`)
  return undefined
}

/** Goes on to the next rule of a run. */
async function endRule({ sql, organization_id }: Scope, id: string, rule_id: string): Promise<void> {
  const own = sql`organization_id = ${organization_id} and id = ${id} and rule_ids[1] = ${rule_id}`
  await sql`delete from rule_runs where ${own} and cardinality(rule_ids) = 1`
  // A slice without an end, `rule_ids[2:]`, ends a server of Citus 13.
  await sql`update rule_runs set rule_ids = array_remove(rule_ids, ${rule_id}), tries = 0 where ${own}`
}
