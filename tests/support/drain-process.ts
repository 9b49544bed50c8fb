/**
 * A process that drains the outbox of DATABASE_URL: webhooks as the service does, and jobs of kind inbound by noting in
 * `runs` when they begin and in `results` when they are settled. Ends with SIGTERM.
 */

import { config } from '../../src/base/config'
import { closeDatabase, connectDatabase, connection } from '../../src/base/db/pool'
import { useSecrets } from '../../src/base/secrets'
import { startDrain } from '../../src/delivery/outbox/drain'
import type { OutboxAttempt } from '../../src/delivery/outbox/job'
import { deliverWebhook } from '../../src/delivery/webhooks/deliver'

useSecrets('a secret key that only tests use')
connectDatabase(config.DATABASE_URL!, 5)

const note: OutboxAttempt = async (job, { sql }) => {
  const [run] = await sql<{ n: number }[]>`
    insert into runs (job_id, pid, began_at) values (${job.id}, ${process.pid}, clock_timestamp()) returning n`
  await Bun.sleep(2)
  return {
    type: 'done',
    settle: async ({ sql }) => {
      await sql`insert into results (job_id, pid) values (${job.id}, ${process.pid})`
      await sql`update runs set ended_at = clock_timestamp() where n = ${run!.n}`
    },
  }
}

const drain = startDrain(connection(), { webhook: deliverWebhook, inbound: note })

process.on('SIGTERM', async () => {
  await drain.stop(500)
  await closeDatabase(1)
  process.exit(0)
})
