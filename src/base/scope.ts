/** Scope: in whose name and in which organization something happens. The first argument of every query and command. */
import { requireMachine } from './db/cluster/away'
import type { audit_log } from './db/schema'
import { type Connection, type Db, type Sql, transact } from './db/transact'

export type Actor =
  | {
      type: 'user'
      id: string
      name: string
      email: string
      role: 'admin' | 'agent'
      /** Signed in at the identity provider of the organization. */
      is_from_provider?: true
    }
  /** A program with an API key, and all that it may do (`http/request/permissions.ts`). */
  | { type: 'api_key'; id: string; name: string; email: null; permissions: ReadonlySet<string> }
  | {
      type: 'contact'
      id: string
      name: string
      email: string
      /** The token of a customer who asks by a request, and the tickets that it shows (`http/request/customers.ts`). */
      token?: { id: string; scope: 'own' | 'company' }
    }
  | {
      type: 'system'
      id: null
      name: string
      email: null
      /** The rule that the service follows (`desk/rules`). Then `name` is that of the mailbox which it writes from. */
      rule?: RuleName
    }

/** A rule, with its name at that time. */
export type RuleName = { id: string; name: string }

/** The request that something is done by, as the audit log remembers it. */
export type Origin = { ip: string; user_agent: string | null; request_id: string }

/** An entry of the audit log, without its time. */
export type AuditRow = Omit<typeof audit_log.$inferInsert, 'created_at' | 'actor_type'> & {
  actor_type: Actor['type'] | 'operator'
}

/** Lists the request of an API key with its first change. */
export type Alongside = {
  /** Adds the entry in the transaction of the change; nothing when a transaction that committed has it. */
  write(scope: Scope, result?: unknown): Promise<void>
  /** The entry tells of the result, so that it is written after the work instead of beside it. */
  is_after?: boolean
  /** The entry, for a change that adds it by itself (`base/audit/audit.ts`); undefined when it is listed. */
  entry(): AuditRow | undefined
  /** Is called after the commit of a change that has added `entry`. */
  added(): void
}

export type Scope = {
  /** Drizzle's builder: writes and rare reads. */
  db: Db
  /** Tagged SQL on the same connection: statements that were designed, and hot reads. */
  sql: Sql
  organization_id: string
  actor: Actor
  /** The connection of a request that writes for long reads outside a transaction. */
  reading?: Connection
  /** Missing in what the service does by itself, and in commands of the operator. */
  origin?: Origin
  /** Inside a transaction: what runs once it has committed (wake the outbox, answer a waiting request). */
  after_commit?: (() => void)[]
  /**
   * Outside a transaction: what each transaction does last, with the result of its work; an error rolls it back. It is
   * set while an idempotency key is run (`http/rerun/run-first.ts`). Commands need not know it: they use
   * `inTransaction`.
   */
  before_commit?: (connection: Connection, result: unknown) => Promise<void>
  /**
   * Outside a transaction: what each transaction does beside its work; an error of either rolls it back. It lists what
   * an API key writes (`http/admission/key-audit.ts`). Its statement is sent together with the first one of the work,
   * so that it adds no round trip. A transaction that several requests share adds the entry of each by itself
   * (`desk/tickets/create-ticket.ts`).
   */
  alongside?: Alongside
}

export const SYSTEM: Actor = { type: 'system', id: null, name: 'Deskwire', email: null }

/** The rule by which something is done; undefined when it is not by one. */
export function ruleOf(actor: Pick<Actor, 'type'> & { rule?: RuleName }): RuleName | undefined {
  return actor.rule
}

/**
 * Runs `work` in one transaction: all of it is kept or none. Inside another transaction it becomes part of that one, so
 * commands compose; an error of the inner one must end the outer one too. What `work` registers with `afterCommit` runs
 * after the commit.
 * @throws MachineAwayError before anything is sent, when the machine of the organization does not answer
 */
export async function inTransaction<T>(scope: Scope, work: (scope: Scope) => Promise<T>): Promise<T> {
  if (scope.after_commit) return work(scope)
  requireMachine(scope.organization_id)
  let after_commit: (() => void)[] = []
  const result = await transact(scope, async (inner: Connection) => {
    // A second run starts anew.
    after_commit = []
    const joined = { ...scope, ...inner, after_commit, before_commit: undefined, alongside: undefined }
    const { alongside } = scope
    const is_beside = alongside && !alongside.is_after
    const result = is_beside ? (await together([alongside.write(joined), work(joined)]))[1] : await work(joined)
    if (alongside?.is_after) await alongside.write(joined, result)
    await scope.before_commit?.(inner, result)
    return result
  })
  for (const run of after_commit) run()
  return result
}

/**
 * Does several things in a transaction at once: the first statement of each is sent together with the others', and they
 * run in the order given. Unlike `Promise.all` it waits for all of them when one fails, because what is sent after the
 * rollback would be kept.
 * @throws the error of the first to fail: after it the transaction refuses the statements of the others
 */
export async function together<T extends readonly unknown[]>(
  work: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const all = Promise.all(work)
  await Promise.allSettled([all, ...work])
  return all
}

/** Runs `action` after the outermost commit; at once when there is no transaction. Never when it rolls back. */
export function afterCommit(scope: Scope, action: () => void): void {
  if (scope.after_commit) scope.after_commit.push(action)
  else action()
}
