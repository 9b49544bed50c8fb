import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { removeOldInvitations } from '../../../src/people/invitations/commands'
import { type Answer, createOrganization, expectError, PASSWORD, signIn, stranger } from '../../support/api'
import { type StartedDesk, startDesk } from '../../support/desk'
import { lastLetterTo, nextToken, operatorServer } from '../../support/letters'
import { createMailbox, drain } from '../../support/mail'
import { withSettings } from '../../support/settings'

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk()
})
afterAll(() => desk.stop())

let email: string

beforeEach(() => {
  email = `carol.${newId()}@b.example`
})

describe('an invitation', () => {
  test('is made without a password, and looks like a member whose status is invited', async () => {
    const answer = await desk.admin.post('/users', {
      email: ` ${email} `,
      name: 'Carol',
      role: 'admin',
      currency: 'EUR',
    })
    expect(answer.status).toBe(201)
    expect(answer.body.data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email,
      name: 'Carol',
      role: 'admin',
      hourly_rate: null,
      currency: 'EUR',
      active: false,
      available: true,
      status: 'invited',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    const { id } = answer.body.data
    expect((await desk.agent.get(`/users/${id}`)).body).toEqual(answer.body)
    const listed = (await desk.agent.get('/users?status=invited')).body
    expect(listed.data).toContainEqual(answer.body.data)
    expect(listed.data.every(({ status }: { status: string }) => status === 'invited')).toBe(true)
    expect((await desk.agent.get('/users?per_page=100')).body.data).toContainEqual(answer.body.data)
  })

  test('comes by email from the default mailbox, with a link to the page of the service', async () => {
    await invite(desk, { name: 'Carol' })
    await drain()
    const letter = await lastLetterTo(desk.sink, email)
    expect(letter.from).toBe(desk.address)
    expect(letter.subject).toBe('Invitation to Acme')
    expect(letter.text).toContain('Ada Admin invites you to work on the support tickets of Acme.')
    expect(letter.link).toMatch(/^http:\/\/localhost:3000\/invitation\?token=[\w-]{43}$/)
    expect(letter.headers.get('auto-submitted')).toBe('auto-generated')
  })

  test('comes from the operator’s server when there is one', async () => {
    using _ = operatorServer(desk.sink)
    await invite(await createOrganization())
    await drain()
    expect((await lastLetterTo(desk.sink, email)).from).toBe('desk@operator.example')
  })

  test('is tried again like other mail', async () => {
    using _ = withSettings({ RETRY_SCHEDULE_SECONDS: [0, 60] })
    await invite(desk)
    let attempts = 0
    desk.sink.answer(({ stage }) => {
      return stage === 'data' && attempts++ === 0 ? '451 4.3.0 Try again' : undefined
    })
    await drain()
    await expect(lastLetterTo(desk.sink, email)).rejects.toThrow()
    await connection().sql`update outbox set run_at = now() where kind = 'letter'`
    await drain()
    desk.sink.answer()
    expect((await lastLetterTo(desk.sink, email)).token).not.toBe('')
  })

  test('leaves no token in the database, neither while it waits nor afterwards', async () => {
    const { id } = await invite(desk)
    const { sql } = connection()
    const rows = async () =>
      JSON.stringify([
        await sql`select * from letters where about_id = ${id}`,
        await sql`select * from invitations where id = ${id}`,
        await sql`select * from outbox`,
      ])
    const waiting = await rows()
    await drain()
    const { token } = await lastLetterTo(desk.sink, email)
    expect(waiting).toContain('sealed_text')
    for (const text of [waiting, await rows()]) expect(text).not.toContain(token)
    expect([...(await sql`select id from letters where about_id = ${id}`)]).toEqual([])
  })

  test('is not made when no email can leave', async () => {
    const lonely = await createOrganization()
    const answer = await lonely.admin.post('/users', { email, name: 'Carol' })
    expectError(answer, 422, 'EMAIL_SEND_FAILED')
    expect((await lonely.admin.get('/users')).body.meta.total).toBe(2)
  })

  test('is not sent to a mailbox of the service, where many would read it', async () => {
    const answer = await desk.admin.post('/users', { email: desk.address, name: 'Desk' })
    expectError(answer, 422, 'EMAIL_SEND_FAILED')
    await invite(desk)
    await createMailbox(desk.admin, { address: email })
    await drain()
    await expect(lastLetterTo(desk.sink, email)).rejects.toThrow()
  })

  test('with an Idempotency-Key is made and sent once, and the kept answer holds no token', async () => {
    const send = () => desk.admin.post('/users', { email, name: 'Carol' }, { 'idempotency-key': `invite ${email}` })
    const [first, second] = [await send(), await send()]
    expect([first.status, second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true'])
    expect(second.body).toEqual(first.body)
    const before = desk.sink.messages.length
    const token = await tokenFor(email)
    expect(desk.sink.messages).toHaveLength(before + 1)
    expect(second.text).not.toContain(token)
  })

  test('twice for one address is refused, as is one for a member', async () => {
    await invite(desk)
    for (const known of [email.toUpperCase(), desk.agent.email]) {
      const answer = await desk.admin.post('/users', { email: known, name: 'X' })
      expectError(answer, 422, 'EMAIL_ALREADY_EXISTS')
      expect(answer.body.error.details.errors[0].path).toBe('/email')
    }
  })

  test('is sent again by an admin: the link of before ends', async () => {
    const { id } = await invite(desk)
    const first = await tokenFor(email)
    const answer = await desk.admin.post(`/users/${id}/invite`)
    expect([answer.status, answer.body.data.status]).toEqual([200, 'invited'])
    const second = await tokenFor(email)
    expectError(await show(first), 401, 'INVALID_TOKEN')
    expect((await show(second)).status).toBe(200)
    expectError(await desk.admin.post(`/users/${desk.agent.user_id}/invite`), 404, 'USER_NOT_FOUND')
  })

  test('goes to one address three times within an hour, however often it is taken back', async () => {
    const admin = (await desk.createDesk()).admin
    const { id } = await invite({ admin })
    await admin.post(`/users/${id}/invite`)
    await admin.delete(`/users/${id}`)
    const answers = await Promise.all([1, 2].map(() => admin.post('/users', { email, name: 'Carol' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422])
    const made = answers.find(({ status }) => status === 201)!.body.data
    const refused = await admin.post(`/users/${made.id}/invite`)
    expectError(refused, 429, 'RATE_LIMITED')
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(3500, 3601)
    await connection()
      .sql`update invitation_letters set sent_at = now() - interval '61 minutes' where email_key = ${email}`
    expect((await admin.post(`/users/${made.id}/invite`)).status).toBe(200)
  })

  test('of one organization keeps back none of another, and does not show there', async () => {
    const { admin } = await desk.createDesk()
    const { id } = await invite({ admin })
    for (const _ of [1, 2]) expect((await admin.post(`/users/${id}/invite`)).status).toBe(200)
    expectError(await admin.post(`/users/${id}/invite`), 429, 'RATE_LIMITED')
    expect((await desk.admin.post('/users', { email, name: 'Carol' })).status).toBe(201)
  })

  test('is one of a hundred that an organization sends within a day', async () => {
    const { id, admin } = await desk.createDesk()
    await connection().sql`
      insert into invitation_letters (organization_id, id, email_key)
      select ${id}, gen_random_uuid(), n || '@b.example' from generate_series(1, 99) n`
    expect((await admin.post('/users', { email, name: 'Carol' })).status).toBe(201)
    const refused = await admin.post('/users', { email: `dora.${newId()}@b.example`, name: 'Dora' })
    expectError(refused, 429, 'RATE_LIMITED')
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(86_300, 86_401)
    await invite(desk, { email: `eve.${newId()}@b.example` })
    await connection()
      .sql`update invitation_letters set sent_at = now() - interval '25 hours' where organization_id = ${id}`
    await removeOldInvitations(connection())
    const left = await connection().sql`select from invitation_letters where organization_id = ${id}`
    expect(left).toHaveLength(0)
    await invite({ admin }, { email: `fay.${newId()}@b.example` })
  })

  test('that is taken back ends its link, and the email that waits does not go out', async () => {
    const { id } = await invite(desk)
    const token = await tokenFor(email)
    expect((await desk.admin.delete(`/users/${id}`)).status).toBe(204)
    expectError(await show(token), 401, 'INVALID_TOKEN')
    expectError(await accept(token), 401, 'INVALID_TOKEN')
    expectError(await desk.admin.get(`/users/${id}`), 404, 'USER_NOT_FOUND')
    const again = await invite(desk)
    const count = desk.sink.messages.length
    await desk.admin.delete(`/users/${again.id}`)
    await drain()
    expect(desk.sink.messages).toHaveLength(count)
  })

  test('ends after seven days, and goes 30 days later', async () => {
    const { id } = await invite(desk)
    const token = await tokenFor(email)
    const { sql } = connection()
    const [row] = await sql`
      select expires_at between now() + interval '6 days 23 hours' and now() + interval '7 days' as is_in_7_days
      from invitations where id = ${id}`
    expect(row).toEqual({ is_in_7_days: true })
    await sql`update invitations set expires_at = now() - interval '29 days' where id = ${id}`
    await removeOldInvitations(connection())
    for (const answer of [await show(token), await accept(token), await decline(token)]) {
      expectError(answer, 401, 'TOKEN_EXPIRED')
    }
    await desk.admin.post(`/users/${id}/invite`)
    expect((await show(await tokenFor(email))).status).toBe(200)
    await sql`update invitations set expires_at = now() - interval '31 days' where id = ${id}`
    await removeOldInvitations(connection())
    expectError(await desk.admin.get(`/users/${id}`), 404, 'USER_NOT_FOUND')
  })

  test('is nothing to other organizations', async () => {
    const { id } = await invite(desk)
    const other = await createOrganization()
    expectError(await other.admin.get(`/users/${id}`), 404, 'USER_NOT_FOUND')
    expectError(await other.admin.post(`/users/${id}/invite`), 404, 'USER_NOT_FOUND')
    expectError(await other.admin.delete(`/users/${id}`), 404, 'USER_NOT_FOUND')
    expect((await desk.admin.get(`/users/${id}`, { 'if-none-match': 'x' })).status).toBe(200)
  })

  test('heeds If-Match', async () => {
    const { id } = await invite(desk)
    const stale = await desk.admin.delete(`/users/${id}`, undefined, { 'if-match': '"stale"' })
    expectError(stale, 412, 'PRECONDITION_FAILED')
    const etag = (await desk.admin.get(`/users/${id}`)).headers.get('etag')!
    expect((await desk.admin.delete(`/users/${id}`, undefined, { 'if-match': etag })).status).toBe(204)
  })
})

describe('an invited person', () => {
  test('sees who invites, and that a new password is wanted', async () => {
    await invite(desk, { role: 'admin' })
    const answer = await show(await tokenFor(email))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      data: {
        organization: { name: 'Acme' },
        role: 'admin',
        email,
        needs_password: true,
        needs_current_password: false,
      },
    })
  })

  test('without an account accepts with a password and is signed in, once', async () => {
    const { id } = await invite(desk, { hourly_rate: 80 })
    const token = await tokenFor(email)
    const answer = await accept(token, { password: 'carols password', name: 'Carol C.' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'bearer',
      expires_in: 900,
      user: { id: expect.any(String), email, name: 'Carol C.' },
    })
    const client = await signIn(email, 'carols password')
    expect((await client.get('/auth/me')).body.organizations).toMatchObject([{ id: desk.id, role: 'agent' }])
    const member = (await desk.admin.get(`/users/${client.user_id}`)).body.data
    expect(member).toMatchObject({ status: 'active', active: true, name: 'Carol C.', hourly_rate: 80 })
    expectError(await desk.admin.get(`/users/${id}`), 404, 'USER_NOT_FOUND')
    expectError(await accept(token), 401, 'INVALID_TOKEN')
  })

  test.each([
    [{}, 'VALIDATION_ERROR', '/password'],
    [{ password: 7 }, 'VALIDATION_ERROR', '/password'],
    [{ password: 'seven77' }, 'VALIDATION_ERROR', '/password'],
    [{ password: 'x'.repeat(201) }, 'VALIDATION_ERROR', '/password'],
    [{ password: 'long enough', name: ' ' }, 'VALIDATION_ERROR', '/name'],
  ])('cannot accept with %j, and the link still holds', async (body, code, path) => {
    await invite(desk)
    const token = await tokenFor(email)
    const answer = await accept(token, body)
    expectError(answer, 422, code)
    expect(answer.body.error.details.errors[0].path).toBe(path)
    expect((await accept(token)).status).toBe(200)
  })

  test('declines, which ends the link', async () => {
    const { id } = await invite(desk)
    const token = await tokenFor(email)
    const answer = await decline(token)
    expect([answer.status, answer.text]).toEqual([204, ''])
    for (const later of [await show(token), await accept(token), await decline(token)]) {
      expectError(later, 401, 'INVALID_TOKEN')
    }
    expectError(await desk.admin.get(`/users/${id}`), 404, 'USER_NOT_FOUND')
  })

  test('accepts once, however often at the same time', async () => {
    await invite(desk)
    const token = await tokenFor(email)
    const answers = await Promise.all([1, 2, 3, 4].map(() => accept(token)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
  })

  test('who has a held password accepts with that, and it stays', async () => {
    using _ = operatorServer(desk.sink)
    await invite(desk)
    await accept(await tokenFor(email), { password: 'carols password' })
    const first = await signIn(email, 'carols password')
    const other = await createOrganization()
    await invite(other, { name: 'Somebody' })
    const token = await tokenFor(email)
    expect((await show(token)).body.data.needs_password).toBe(false)
    expectError(await accept(token, { password: 'another password' }), 401, 'INVALID_CREDENTIALS')
    const answer = await accept(token, { password: 'carols password', name: 'Somebody' })
    expect([answer.status, answer.body.user?.name]).toEqual([200, 'Carol'])
    expect((await first.get('/auth/me')).body.organizations).toHaveLength(2)
  })

  test('with an unknown token gets INVALID_TOKEN', async () => {
    for (const token of ['unknown', 'x'.repeat(43), '%00']) {
      for (const answer of [await show(token), await accept(token), await decline(token)]) {
        expectError(answer, 401, 'INVALID_TOKEN')
      }
    }
  })
})

async function invite({ admin }: Pick<StartedDesk, 'admin'>, fields: Record<string, unknown> = {}) {
  const answer = await admin.post('/users', { email, name: 'Carol', ...fields })
  if (answer.status !== 201) throw new Error(`inviting answered ${answer.status} ${answer.text}`)
  return answer.body.data as { id: string }
}

const tokenFor = (address: string) => nextToken(desk.sink, address)

function show(token: string): Promise<Answer> {
  return stranger().get(`/auth/invitations/${token}`)
}

function accept(token: string, body: Record<string, unknown> = { password: PASSWORD }): Promise<Answer> {
  return stranger().post(`/auth/invitations/${token}/accept`, body)
}

function decline(token: string): Promise<Answer> {
  return stranger().post(`/auth/invitations/${token}/decline`)
}
