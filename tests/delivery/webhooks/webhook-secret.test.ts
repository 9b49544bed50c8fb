/** Changing the secret of a webhook: both secrets sign for 24 hours. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { connection } from '../../../src/base/db/pool'
import { decrypt } from '../../../src/base/secrets'
import { forgetSecrets } from '../../../src/delivery/webhooks/upkeep'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import type { ReceivedRequest } from '../../support/receiver'
import { createWebhook, deliverDue, emit, startTrustedReceiver } from '../../support/webhooks'

const FIRST = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const SECOND = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const THIRD = 'a third one, of another form'

let organization: Organization

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
})
afterAll(stopApi)

/** A webhook with the secret FIRST; `send` changes it and answers the next delivery. */
async function startChanging() {
  const receiver = await startTrustedReceiver()
  const { admin, scope } = organization
  const webhook = await createWebhook(admin, { url: receiver.url, secret: FIRST })
  const change = async (secret: string | null) => {
    const answer = await admin.patch(`/webhooks/${webhook.id}`, { secret })
    expect([answer.status, answer.body.data.has_secret]).toEqual([200, secret !== null])
  }
  return {
    id: webhook.id as string,
    change,
    async send(): Promise<ReceivedRequest> {
      await emit(scope)
      await deliverDue()
      return receiver.requests.at(-1)!
    },
    async [Symbol.asyncDispose]() {
      await admin.delete(`/webhooks/${webhook.id}`)
      receiver[Symbol.dispose]()
    },
  }
}

/** The secrets that the standard's own library accepts, in the order of the signatures. */
function signers(request: ReceivedRequest): string[] {
  const signatures = request.headers.get('webhook-signature')?.split(' ') ?? []
  return signatures.map((signature) => {
    const headers = { ...Object.fromEntries(request.headers), 'webhook-signature': signature }
    return [FIRST, SECOND, THIRD].find((secret) => accepts(secret, request, headers)) ?? 'nobody'
  })
}

function accepts(secret: string, request: ReceivedRequest, headers = Object.fromEntries(request.headers)): boolean {
  const verifier = secret === THIRD ? new Webhook(Buffer.from(secret), { format: 'raw' }) : new Webhook(secret)
  try {
    return verifier.verify(Buffer.from(request.body), headers) !== undefined
  } catch {
    return false
  }
}

function ownSignature(request: ReceivedRequest, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`
}

async function storedSecrets(id: string): Promise<(string | null)[]> {
  const [row] = await connection().sql`select secret, previous_secret from webhooks where id = ${id}`
  const at = { organization_id: organization.id, id }
  return [
    row!.secret && decrypt(row!.secret, { column: 'webhooks.secret', ...at }),
    row!.previous_secret && decrypt(row!.previous_secret, { column: 'webhooks.previous_secret', ...at }),
  ]
}

test('a changed secret signs at once, and the old one beside it for 24 hours', async () => {
  await using webhook = await startChanging()
  expect(signers(await webhook.send())).toEqual([FIRST])
  await webhook.change(SECOND)
  const request = await webhook.send()
  expect([accepts(FIRST, request), accepts(SECOND, request), accepts(THIRD, request)]).toEqual([true, true, false])
  expect(signers(request)).toEqual([SECOND, FIRST])
  expect(request.headers.get('x-service-signature')).toBe(ownSignature(request, SECOND))

  const [row] = await connection().sql<{ hours: number; plain: boolean }[]>`
    select extract(epoch from previous_secret_until - updated_at)::float8 / 3600 as hours,
      position(${FIRST} in previous_secret) > 0 as plain
    from webhooks where id = ${webhook.id}`
  expect(row).toEqual({ hours: 24, plain: false })
  await connection().sql`update webhooks set previous_secret_until = now() where id = ${webhook.id}`
  expect(signers(await webhook.send())).toEqual([SECOND])
})

test('of two changes within a day the latest two secrets sign', async () => {
  await using webhook = await startChanging()
  await webhook.change(SECOND)
  await webhook.change(THIRD)
  const request = await webhook.send()
  expect(signers(request)).toEqual([THIRD, SECOND])
  expect(request.headers.get('x-service-signature')).toBe(ownSignature(request, THIRD))
})

test('the same secret once more changes nothing', async () => {
  await using webhook = await startChanging()
  await webhook.change(SECOND)
  await webhook.change(SECOND)
  expect(signers(await webhook.send())).toEqual([SECOND, FIRST])
})

test('removing the secret removes the old one too, and the next one begins alone', async () => {
  await using webhook = await startChanging()
  await webhook.change(SECOND)
  await webhook.change(null)
  const request = await webhook.send()
  expect([request.headers.get('webhook-signature'), request.headers.get('x-service-signature')]).toEqual([null, null])
  expect(await storedSecrets(webhook.id)).toEqual([null, null])
  await webhook.change(THIRD)
  expect(signers(await webhook.send())).toEqual([THIRD])
})

test('a secret that cannot be decrypted any more can be replaced', async () => {
  await using webhook = await startChanging()
  await connection().sql`update webhooks set secret = 'AAAA' where id = ${webhook.id}`
  await webhook.change(SECOND)
  expect(signers(await webhook.send())).toEqual([SECOND])
})

test('old secrets that sign no more are forgotten, others are kept', async () => {
  await using over = await startChanging()
  await using current = await startChanging()
  await over.change(SECOND)
  await current.change(SECOND)
  await connection().sql`update webhooks set previous_secret_until = now() where id = ${over.id}`
  await forgetSecrets(connection())
  expect(await storedSecrets(over.id)).toEqual([SECOND, null])
  expect(await storedSecrets(current.id)).toEqual([SECOND, FIRST])
})
