/**
 * A process that changes tickets and contacts in transactions that commit late, in no order, and sometimes not at all.
 * Uses `DATABASE_URL`; its argument is a `Writing` as JSON. Each given ticket and contact is changed once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { closeDatabase, connectDatabase, connection } from '../../src/base/db/pool'
import { type Scope, SYSTEM } from '../../src/base/scope'
import { updateContact } from '../../src/desk/contacts/commands'
import { updateTicket } from '../../src/desk/tickets/commands'
import { createTicket } from '../../src/desk/tickets/create-ticket'

export type Writing = {
  organization_id: string
  tickets: string[]
  contacts: string[]
  /** Commits come up to so long after their changes. */
  latest_ms: number
}

const AT_ONCE = 8
const NOT_KEPT = new Error('This change is not kept')

const { organization_id, tickets, contacts, latest_ms }: Writing = JSON.parse(process.argv[2]!)
connectDatabase(process.env.DATABASE_URL!, AT_ONCE)

/** A scope whose transactions wait before they commit. */
function late(): Scope {
  const before_commit = async () => {
    // Many short waits and a few long ones, so that early changes are overtaken by many later ones.
    await delay(latest_ms * Math.random() ** 3)
    if (Math.random() < 0.1) throw NOT_KEPT
  }
  return { ...connection(), organization_id, actor: SYSTEM, before_commit }
}

const changes = [
  ...tickets.map((id) => () => updateTicket(late(), id, { subject: `Changed ${id}` })),
  ...contacts.map((id) => () => updateContact(late(), id, { notes: `Changed ${id}` })),
  ...contacts.map((contact_id) => () => createTicket(late(), { subject: 'New', contact_id })),
].sort(() => Math.random() - 0.5)

async function work() {
  for (let change = changes.pop(); change; change = changes.pop()) {
    await change().catch((error) => {
      if (error !== NOT_KEPT) throw error
    })
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work))
await closeDatabase()
