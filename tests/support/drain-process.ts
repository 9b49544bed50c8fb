/** A process that drains the outbox of DATABASE_URL: webhooks, as the service does. Ends with SIGTERM. */
import { config } from '../../src/base/config'
import { closeDatabase, connectDatabase, connection } from '../../src/base/db/pool'
import { useSecrets } from '../../src/base/secrets'
import { startDrain } from '../../src/delivery/outbox/drain'
import { deliverWebhook } from '../../src/delivery/webhooks/deliver'

useSecrets('a secret key that only tests use')
connectDatabase(config.DATABASE_URL!, 5)

const drain = startDrain(connection(), { webhook: deliverWebhook })

process.on('SIGTERM', async () => {
  await drain.stop(500)
  await closeDatabase(1)
  process.exit(0)
})
