/** A change of SECRET_KEY, with the secrets of mailboxes and webhooks that are stored. */
import { afterAll, afterEach, beforeAll, expect, spyOn, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { createCipheriv, randomBytes } from 'node:crypto'
import path from 'node:path'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { log } from '../../../src/base/log'
import type { Scope } from '../../../src/base/scope'
import { decrypt, ENCRYPTED_COLUMNS, encrypt, keysOf, useSecrets } from '../../../src/base/secrets'
import { type StoredSecrets, secretsOf } from '../../../src/delivery/webhooks/signing-secrets'
import { enqueueLetter } from '../../../src/mail/letters/enqueue-letter'
import { getMailbox, getMailboxSmtp } from '../../../src/mail/mailboxes/queries'
import { logLostSecrets } from '../../../src/operate/start/secret-groups'
import { getStoredProvider } from '../../../src/people/identity/queries'
import {
  PASSWORD as ACCOUNT_PASSWORD,
  createOrganization,
  type Organization,
  startApi,
  stopApi,
} from '../../support/api'
import type { TestDatabase } from '../../support/database'
import { createWebhook } from '../../support/webhooks'

const CLI = path.join(import.meta.dirname, '../../../src/cli.ts')
const OLD = 'a secret key that only tests use'
const NEW = 'another secret key that only tests use'
const FIRST = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const PASSWORD = 'a mailbox password'
const CLIENT_SECRET = 'secret of a client'
const SIGNING_KEY = 'signing key of an inlet'
const LETTER = { subject: 'Join us', text: 'A link that opens an account' }
const STORED = ENCRYPTED_COLUMNS.length
const NOTHING = ENCRYPTED_COLUMNS.map((column) => ({ column, rotated: 0, unreadable: 0 }))

let database: TestDatabase

beforeAll(async () => {
  database = await startApi()
})
afterEach(async () => {
  useSecrets(OLD)
  await connection().sql`
    truncate letters, mailboxes, mailbox_sign_ins, webhooks, second_factors, identity_providers, inlets cascade`
})
afterAll(stopApi)

test('rotation encrypts every stored secret with the present key, so that the former is not needed any more', async () => {
  const stored = await storeSecrets()
  const before = await stored.read()
  const ciphertexts = await stored.ciphertexts()
  expect(rotate({ SECRET_KEY: NEW, SECRET_KEY_PREVIOUS: OLD })).toEqual(
    ENCRYPTED_COLUMNS.map((column) => ({ column, rotated: 1, unreadable: 0 })),
  )
  useSecrets(NEW)
  expect(await stored.read()).toEqual(before)
  const rotated = await stored.ciphertexts()
  expect(rotated.filter((text, i) => text === ciphertexts[i])).toEqual([])
  expect(rotate({ SECRET_KEY: NEW })).toEqual(NOTHING)
})

test('secrets of an earlier release, which are bound to no row, are read, and bound by the rotation', async () => {
  const stored = await storeSecrets()
  const before = await stored.read()
  await stored.makeOld()
  expect(await stored.read()).toEqual(before)
  expect(rotate({ SECRET_KEY: OLD }).map(({ rotated }) => rotated)).toEqual(ENCRYPTED_COLUMNS.map(() => 1))
  expect(await stored.read()).toEqual(before)
  for (const text of await stored.ciphertexts()) expect(text).toContain('.')
})

test('a secret that was moved to another row is not decrypted', async () => {
  const [mine, theirs] = [await storeSecrets(), await storeSecrets()]
  const { sql } = connection()
  await sql`
    update mailboxes set smtp_password = other.smtp_password, dkim_private_key = other.dkim_private_key
    from mailboxes other where mailboxes.id = ${theirs.mailbox_id} and other.id = ${mine.mailbox_id}`
  await sql`
    update webhooks set secret = other.secret from webhooks other
    where webhooks.id = ${theirs.webhook_id} and other.id = ${mine.webhook_id}`
  await expect(theirs.readPassword()).rejects.toThrow('cannot be decrypted')
  await expect(theirs.readSecrets()).rejects.toThrow('cannot be decrypted')
  expect((await getMailbox(theirs.scope, theirs.mailbox_id)).dkim?.dns_record).toBeNull()
  await sql`update webhooks set secret = previous_secret where id = ${mine.webhook_id}`
  await expect(mine.readSecrets()).rejects.toThrow('cannot be decrypted')
})

test('a secret that no key fits is counted and left as it is', async () => {
  const stored = await storeSecrets()
  const before = await stored.ciphertexts()
  const results = rotate({ SECRET_KEY: NEW })
  expect(results.map(({ rotated, unreadable }) => [rotated, unreadable])).toEqual(ENCRYPTED_COLUMNS.map(() => [0, 1]))
  expect(await stored.ciphertexts()).toEqual(before)
})

test('a start with a key that fits no secret logs an error, and one with the right key nothing', async () => {
  await storeSecrets()
  using error = spyOn(log, 'error').mockImplementation(() => {})
  await logLostSecrets(connection())
  expect(error).not.toHaveBeenCalled()
  useSecrets(NEW)
  await logLostSecrets(connection())
  expect(error.mock.calls).toEqual([
    [{ unreadable: STORED, stored: STORED }, expect.stringContaining('SECRET_KEY is not the key of this database')],
  ])
})

/**
 * An organization with a secret in every column: a mailbox that signs in and signs, a webhook whose secret was changed.
 */
async function storeSecrets() {
  const { admin, scope }: Organization = await createOrganization()
  const mailbox = await admin.post('/mailboxes', {
    address: `${newId()}@acme.example`,
    smtp: { host: 'mail.acme.example', port: 587, security: 'starttls', username: 'ann', password: PASSWORD },
    dkim: { domain: 'acme.example', selector: 'desk' },
  })
  const mailbox_id: string = mailbox.body.data.id
  await admin.post(`/mailboxes/${mailbox_id}/inlet`, { provider: 'mailgun', signing_key: SIGNING_KEY })
  const { id: webhook_id } = await createWebhook(admin, { secret: FIRST })
  await admin.patch(`/webhooks/${webhook_id}`, { secret: 'the second secret' })
  const about_id = newId()
  const way = { type: 'mailbox', mailbox_id } as const
  await enqueueLetter(scope, way, { about_id, recipient: 'ann@acme.example', valid_s: 60, ...LETTER })
  const { sql, organization_id } = scope
  const account = { column: 'second_factors.secret', organization_id: admin.user_id, id: admin.user_id } as const
  const factor: string = (await admin.post('/auth/second-factor', { current_password: ACCOUNT_PASSWORD })).body.secret
  await storeProvider(scope)
  await storeSignIn(scope, mailbox_id)
  const readRows = async () => {
    type Row = Record<
      | ('smtp_password' | 'dkim_private_key' | 'secret' | 'previous_secret' | 'sealed_text' | 'factor')
      | ('client_secret' | 'signing_key' | 'inlet_id' | SignInSecret),
      string
    >
    const [row] = await sql<Row[]>`
      select smtp_password, dkim_private_key, webhooks.secret, previous_secret, sealed_text, f.secret as factor,
        p.client_secret, s.client_secret as sign_in_secret, s.refresh_token, s.access_token,
        i.signing_key, i.id as inlet_id
      from mailboxes, webhooks, letters, second_factors f, identity_providers p, mailbox_sign_ins s, inlets i
      where mailboxes.id = ${mailbox_id} and webhooks.id = ${webhook_id} and about_id = ${about_id}
        and f.id = ${admin.user_id} and p.organization_id = ${organization_id} and s.id = ${mailbox_id}
        and i.mailbox_id = mailboxes.id`
    return row!
  }
  const readPassword = async () => (await getMailboxSmtp(scope, mailbox_id))?.password
  const readSecrets = async () => {
    const { secret, previous_secret }: StoredSecrets = await readRows()
    return secretsOf({ secret, previous_secret }, { organization_id, id: webhook_id })
  }
  const readLetter = async () => {
    const [letter] = await sql<{ id: string; sealed_text: string }[]>`
      select id, sealed_text from letters where about_id = ${about_id}`
    return JSON.parse(decrypt(letter!.sealed_text, { column: 'letters.sealed_text', organization_id, id: letter!.id }))
  }
  return {
    scope,
    mailbox_id,
    webhook_id,
    readPassword,
    readSecrets,
    /** All secrets in plain text; of the private key its public half. */
    async read() {
      const { dkim } = await getMailbox(scope, mailbox_id)
      const secrets = { password: await readPassword(), dkim, secrets: await readSecrets(), letter: await readLetter() }
      expect(secrets).toMatchObject({ password: PASSWORD, secrets: ['the second secret', FIRST], letter: LETTER })
      expect(dkim?.dns_record).not.toBeNull()
      expect((await getStoredProvider(scope, organization_id)).client_secret).toBe(CLIENT_SECRET)
      const { factor: stored, signing_key, inlet_id } = await readRows()
      expect(decrypt(stored, account)).toBe(factor)
      expect(decrypt(signing_key, { column: 'inlets.signing_key', organization_id, id: inlet_id })).toBe(SIGNING_KEY)
      return secrets
    },
    ciphertexts: async () => {
      const { inlet_id: _, ...texts } = await readRows()
      return Object.values(texts)
    },
    /** Stores all of them in the form of an earlier release. */
    async makeOld() {
      const row = await readRows()
      const at = { organization_id, id: mailbox_id }
      const private_key = decrypt(row.dkim_private_key, { column: 'mailboxes.dkim_private_key', ...at })
      await sql`
        update mailboxes set smtp_password = ${oldForm(PASSWORD)}, dkim_private_key = ${oldForm(private_key)}
        where id = ${mailbox_id}`
      await sql`
        update webhooks set secret = ${oldForm('the second secret')}, previous_secret = ${oldForm(FIRST)}
        where id = ${webhook_id}`
      await sql`update letters set sealed_text = ${oldForm(JSON.stringify(LETTER))} where about_id = ${about_id}`
      await sql`
        update identity_providers set client_secret = ${oldForm(CLIENT_SECRET)}
        where organization_id = ${organization_id}`
      await sql`
        update mailbox_sign_ins set client_secret = ${oldForm('s')}, refresh_token = ${oldForm('r')},
          access_token = ${oldForm('a')}
        where id = ${mailbox_id}`
      await sql`update inlets set signing_key = ${oldForm(SIGNING_KEY)} where mailbox_id = ${mailbox_id}`
      await sql`update second_factors set secret = ${oldForm(factor)} where id = ${admin.user_id}`
    },
  }
}

/** Straight into the database: no provider is there to be asked. */
async function storeProvider({ sql, organization_id }: Scope): Promise<void> {
  const id = newId()
  const secret = encrypt(CLIENT_SECRET, { column: 'identity_providers.client_secret', organization_id, id })
  await sql`
    insert into identity_providers
      (organization_id, id, issuer, client_id, client_secret, role_values, session_seconds)
    values (${organization_id}, ${id}, 'https://id.example', 'desk', ${secret}, '{}', 300)`
}

type SignInSecret = 'sign_in_secret' | 'refresh_token' | 'access_token'

/** Straight into the database: a mailbox with a password has none of these. */
async function storeSignIn({ sql, organization_id }: Scope, id: string): Promise<void> {
  const [client, refresh, access] = (['client_secret', 'refresh_token', 'access_token'] as const).map((name) =>
    encrypt(name, { column: `mailbox_sign_ins.${name}`, organization_id, id }),
  )
  await sql`
    insert into mailbox_sign_ins
      (organization_id, id, "grant", token_url, client_id, client_secret, refresh_token, access_token, version)
    values (${organization_id}, ${id}, 'refresh_token', 'https://id.example', 'desk', ${client!}, ${refresh!},
      ${access!}, ${newId()})`
}

/** Encrypts in the form of an earlier release: without the id of the key, and bound to nothing. */
function oldForm(plain: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keysOf('encryption')[0]!, nonce)
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
}

type Rotated = { column: string; rotated: number; unreadable: number }

/** Runs the command. @returns what it prints for each column */
function rotate(env: Record<string, string>): Rotated[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-orphans', CLI, 'secrets', 'rotate'], {
    env: { ...process.env, DATABASE_URL: database.url, ...env },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Rotated)
}
