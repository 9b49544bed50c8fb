/**
 * Gates in a database: whoever comes to a closed one waits there, in the middle of a transaction or of its commit. So a
 * test can kill a process at a moment that it names.
 */
import postgres from 'postgres'

const IS_CLAIM = 'new.lease_token is distinct from old.lease_token and new.lease_token is not null'
const LATE = 'deferrable initially deferred'

/** Moments of the work on the outbox, and the trigger that waits there. A late one waits in the commit. */
const TRIGGERS = {
  claim: `trigger % before update on outbox for each row when (${IS_CLAIM})`,
  claim_commit: `constraint trigger % after update on outbox ${LATE} for each row when (${IS_CLAIM})`,
  record: 'trigger % before insert on delivery_attempts for each row',
  file: 'trigger % before insert on messages for each row',
  attach: 'trigger % before insert on attachments for each row',
  settle_commit: `constraint trigger % after delete on outbox ${LATE} for each row`,
}

export type Moment = keyof typeof TRIGGERS
const MOMENTS = Object.keys(TRIGGERS) as Moment[]

/** The first key of the advisory locks that are the gates. */
const GATES = 4711
/** Tells the connections of the test from those of the service. */
const NAME = 'gates'

export type Gates = {
  /** The test's own connection. */
  sql: postgres.Sql
  /** Closes a gate. @returns what tells if somebody waits there, and what opens it */
  close(moment: Moment): Promise<{ isReached(): Promise<boolean>; open(): Promise<void> }>
  /** True when no connection of anybody else is left. */
  isDeserted(): Promise<boolean>
  [Symbol.asyncDispose](): Promise<void>
}

/** Builds the gates, all open. @param url of the superuser */
export async function buildGates(url: string): Promise<Gates> {
  const options = { onnotice: () => {}, connection: { application_name: NAME } }
  const sql = postgres(url, { ...options, max: 2, types: { bigint: BIGINT } })
  await sql.unsafe(`
    create function wait_at_gate() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${GATES}, tg_argv[0]::integer);
      return coalesce(new, old);
    end $$`)
  for (const [place, moment] of MOMENTS.entries()) {
    const trigger = TRIGGERS[moment].replace('%', `gate_${moment}`)
    await sql.unsafe(`create ${trigger} execute function wait_at_gate(${place})`)
  }
  return {
    sql,
    async close(moment) {
      const place = MOMENTS.indexOf(moment)
      // A connection of its own holds the lock: it is open again with the end of the connection, or of the server.
      const holder = postgres(url, { ...options, max: 1 })
      await holder`select pg_advisory_lock(${GATES}, ${place})`
      return {
        isReached: async () => {
          const waiting = await sql`
            select from pg_locks where locktype = 'advisory' and classid = ${GATES} and objid = ${place} and not granted`
          return waiting.length > 0
        },
        open: () => holder.end({ timeout: 0 }),
      }
    },
    async isDeserted() {
      const others = await sql`
        select from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and application_name <> ${NAME}`
      return others.length === 0
    },
    [Symbol.asyncDispose]: () => sql.end({ timeout: 0 }),
  }
}

const BIGINT = { to: 20, from: [20], parse: Number, serialize: String }
