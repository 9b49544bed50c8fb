/**
 * `bun run bench outbox`: webhook deliveries from commit to receiver. PostgreSQL with everything durable, the receiver
 * on HTTPS in one process, the drain in another, where the receiver's authority is one of the system's, as
 * for receivers on the internet. Settings: BENCH_DELIVERIES (100000) of each backlog, BENCH_FINISHED (1000000) rows of
 * history, BENCH_WEBHOOKS (50), BENCH_SINGLE (200) events on an idle service, BENCH_HELD_S (180) for which a
 * transaction is held open.
 */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { issueCertificate } from '../support/certificates'

const { cert_file, key_file, ca_file } = await issueCertificate()
const run = spawn(process.execPath, [path.join(import.meta.dirname, 'outbox-run.ts'), cert_file, key_file], {
  env: { ...process.env, NODE_EXTRA_CA_CERTS: ca_file },
  stdio: 'inherit',
})
run.on('exit', (code) => process.exit(code ?? 1))
