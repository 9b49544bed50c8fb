/** Settings of the tests, before any module reads the environment. */
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'

process.env.NODE_ENV = 'test'
process.env.LOG_LEVEL ??= 'silent'
process.env.RATE_LIMIT_PER_MINUTE ??= '0'
// Made with its first file.
process.env.DATA_DIR ??= path.join(tmpdir(), `deskwire-test-${crypto.randomUUID()}`)
// Receivers and mail servers of the tests are on loopback.
process.env.WEBHOOK_ALLOWED_NETWORKS ??= '127.0.0.0/8,::1'
process.env.MAIL_ALLOWED_NETWORKS ??= '127.0.0.0/8,::1'

// A hash as the service makes it takes 34 ms of a processor. `password-gate.test.ts` shows that it asks for such ones.
const { hash } = Bun.password
Bun.password.hash = (password) => hash(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })

// The same generated values in each run, so that no run fails by chance. Another seed looks for new cases.
fc.configureGlobal({ seed: Number(process.env.DESKWIRE_PROPERTY_SEED ?? 20_261_122) })
