/**
 * Lets a server that was started complete the pieces of its log in time. Its checkpointer begins before recovery has
 * ended, and then sleeps for `checkpoint_timeout` without a look at `archive_timeout` (CheckpointerMain in PostgreSQL's
 * checkpointer.c). A signal wakes it. What was in the open piece before the start is no reason for it to complete that.
 */
import type { Session } from '../../base/db/session'

export class ServerWaker {
  #pid: number | undefined
  #at_ms = Number.NEGATIVE_INFINITY

  /** Wakes the server in each new session: one that crashed ended them all. @param sql the superuser's */
  async wake(sql: Session): Promise<void> {
    const [session] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    if (session!.pid === this.#pid) return
    await sql`select pg_reload_conf(), pg_switch_wal()`
    this.#pid = session!.pid
    this.#at_ms = performance.now()
  }

  /** Milliseconds since it was woken. */
  awakeMs(): number {
    return performance.now() - this.#at_ms
  }
}
