/** Rules for tests, over HTTP. */
import type { Client, Organization } from './api'
import { drain } from './mail'

/** A macro, over HTTP. */
export async function createMacro(client: Client, fields: Record<string, unknown> = {}) {
  const answer = await client.post('/macros', { name: crypto.randomUUID(), ...fields })
  if (answer.status !== 201) throw new Error(`creating a macro answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

/** A rule with a macro of its own, unless it gets one. @param macro its fields */
export async function createRule(
  client: Client,
  { on = 'ticket.created', macro = { changes: { priority: 'high' } }, ...fields }: RuleFields = {},
) {
  const macro_id = fields.macro_id ?? (await createMacro(client, macro)).id
  const answer = await client.post('/rules', { name: crypto.randomUUID(), on, macro_id, ...fields })
  if (answer.status !== 201) throw new Error(`creating a rule answered ${answer.status} ${answer.text}`)
  return answer.body.data
}

type RuleFields = Record<string, unknown> & { on?: string; macro?: Record<string, unknown>; macro_id?: string }

/** Applies what waits of rules, tries that are due later too, and sends what leaves by it. */
export async function applyAll({ scope: { sql, organization_id } }: Organization): Promise<void> {
  for (;;) {
    await drain()
    const { count } = await sql`
      update outbox set run_at = now() where organization_id = ${organization_id} and kind = 'rule'`
    if (count === 0) break
  }
  await drain()
}
