/** By which server letters leave, and who can keep them back: never a program, and never another organization. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { type Answer, createOrganization, PASSWORD, stranger } from '../../support/api'
import { createProgram, type Program } from '../../support/api-keys'
import { type Desk, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { lastLetterTo } from '../../support/letters'
import { createMailbox, drain } from '../../support/mail'
import { withSettings } from '../../support/settings'
import { type SmtpSink, startSmtpSink } from '../../support/smtp'

let started: StartedDesk
/** A server of somebody who has an API key. */
let theirs: SmtpSink
let desk: Desk
let program: Program

beforeAll(async () => {
  ;[started, theirs] = await Promise.all([startDesk(), startSmtpSink()])
})
afterAll(async () => {
  theirs[Symbol.dispose]()
  await started.stop()
})
beforeEach(async () => {
  desk = await started.createDesk()
  program = await createProgram(desk.admin, ['mailboxes:write', 'users:write'])
})

const mailbox = () => `/mailboxes/${desk.mailbox_id}`

/**
 * Asks for a link in the name of a person. @returns the letters that left: by the desk's server, and by that of the key
 */
async function lettersTo(email: string): Promise<[ours: number, theirs: number]> {
  const sent = ({ messages }: SmtpSink) => messages.filter(({ to }) => to.includes(email)).length
  const before = [sent(started.sink), sent(theirs)] as const
  expect((await stranger().post('/auth/password/forgot', { email })).status).toBe(204)
  await drain()
  return [sent(started.sink) - before[0], sent(theirs) - before[1]]
}

function expectUnsent(answer: Answer) {
  expect([answer.status, answer.body.error?.code]).toEqual([422, 'EMAIL_SEND_FAILED'])
}

describe('a letter', () => {
  test('leaves by no server that an API key has set, until an admin sets it again', async () => {
    const { admin } = desk
    const invite = () => admin.post('/users', { email: `${newId()}@b.example`, name: 'Bea' })
    expect(await lettersTo(admin.email)).toEqual([1, 0])
    expect((await program.patch(mailbox(), { smtp: smtpTo(theirs) })).status).toBe(200)
    expect(await lettersTo(admin.email)).toEqual([0, 0])
    expectUnsent(await invite())
    expectUnsent(await program.post('/users', { email: `${newId()}@b.example`, name: 'Bea' }))
    await admin.patch(mailbox(), { name: 'Renamed' })
    expectUnsent(await invite())
    await admin.patch(mailbox(), { smtp: smtpTo(started.sink) })
    expect(await lettersTo(admin.email)).toEqual([1, 0])
    expect((await invite()).status).toBe(201)
  })

  test('leaves by no server of an API key that an admin repeats with another change, as the console does', async () => {
    const { admin } = desk
    await program.patch(mailbox(), { smtp: { ...smtpTo(theirs), username: 'desk', password: null } })
    const { address, smtp } = (await admin.get(mailbox())).body.data
    await admin.patch(mailbox(), { address, name: 'Renamed', active: true, smtp })
    expect(await lettersTo(admin.email)).toEqual([0, 0])
  })

  test('leaves from no address of an API key, to which a bounce or an automatic answer may quote it', async () => {
    const { admin } = desk
    expect((await program.patch(mailbox(), { address: `${newId()}@theirs.example` })).status).toBe(200)
    expect(await lettersTo(admin.email)).toEqual([0, 0])
    await admin.patch(mailbox(), { smtp: smtpTo(started.sink, { password: null }) })
    expect(await lettersTo(admin.email)).toEqual([1, 0])
  })

  test('leaves by the server of an admin that an API key repeats', async () => {
    const { smtp } = (await program.get(mailbox())).body.data
    await program.patch(mailbox(), { name: 'Renamed', smtp })
    expect(await lettersTo(desk.admin.email)).toEqual([1, 0])
  })

  test('leaves by no new mailbox of an API key, whichever is the default', async () => {
    const { admin } = desk
    const made = await createMailbox(program, { smtp: smtpTo(theirs), is_default: true })
    expect(await lettersTo(admin.email)).toEqual([0, 0])
    await program.patch(mailbox(), { is_default: true })
    expect(await lettersTo(admin.email)).toEqual([1, 0])
    await program.delete(mailbox())
    expect((await admin.get(`/mailboxes/${made.id}`)).body.data.is_default).toBe(true)
    expect(await lettersTo(admin.email)).toEqual([0, 0])
  })

  test('leaves as before when an API key changes something else of the mailbox', async () => {
    await program.patch(mailbox(), { name: 'Renamed', verp: true, plus_addressing: false })
    expect(await lettersTo(desk.admin.email)).toEqual([1, 0])
  })

  test('that waits does not leave by a server that an API key has set meanwhile', async () => {
    const { admin } = desk
    await stranger().post('/auth/password/forgot', { email: admin.email })
    const id = (await admin.post('/users', { email: `${newId()}@b.example`, name: 'Bea' })).body.data.id
    const before = started.sink.messages.length
    await program.patch(mailbox(), { smtp: smtpTo(theirs) })
    await drain()
    expect([started.sink.messages.length - before, theirs.messages.length]).toEqual([0, 0])
    expectUnsent(await admin.post(`/users/${id}/invite`))
  })

  test('leaves by a server of a release that did not note who set it', async () => {
    await connection().sql`update mailboxes set is_smtp_by_key = default where id = ${desk.mailbox_id}`
    expect(await lettersTo(desk.admin.email)).toEqual([1, 0])
  })
})

describe('a mailbox with the address of a person', () => {
  test('keeps back no letter when it is that of another organization', async () => {
    const { admin } = desk
    const other = await createOrganization()
    const invited = `${newId()}@b.example`
    for (const address of [admin.email, invited]) await createMailbox(other.admin, { address })
    expect(await lettersTo(admin.email)).toEqual([1, 0])
    expect((await admin.post('/users', { email: invited, name: 'Bea' })).status).toBe(201)
    await drain()
    expect((await lastLetterTo(started.sink, invited)).token).not.toBe('')
  })

  test('keeps no invitation back when its organization made the account without the person', async () => {
    const other = await createOrganization()
    const email = `${newId()}@b.example`
    const made = await other.admin.post('/users', { email, name: 'Bea', password: 'chosen by others' })
    expect(made.status).toBe(201)
    await createMailbox(other.admin, { address: email })
    expect((await desk.admin.post('/users', { email, name: 'Bea' })).status).toBe(201)
    await drain()
    expect((await lastLetterTo(started.sink, email)).token).not.toBe('')
  })

  test('keeps letters back when it is that of the one organization of the person', async () => {
    const { admin } = desk
    await createMailbox(admin, { address: admin.email })
    expect(await lettersTo(admin.email)).toEqual([0, 0])
  })

  test('keeps nothing back when its organization made the account before the person joined another', async () => {
    using _ = withSettings({
      SYSTEM_SMTP_URL: `smtp://127.0.0.1:${started.sink.port}`,
      SYSTEM_MAIL_FROM: { name: 'Desk', address: 'desk@operator.example' },
    })
    const [other, third] = [await createOrganization(), await createOrganization()]
    const email = `${newId()}@b.example`
    await other.admin.post('/users', { email, name: 'Bea', password: 'chosen by others' })
    await desk.admin.post('/users', { email, name: 'Bea' })
    await drain()
    const { token } = await lastLetterTo(started.sink, email)
    expect((await stranger().post(`/auth/invitations/${token}/accept`, { password: PASSWORD })).status).toBe(200)
    await createMailbox(other.admin, { address: email })
    expect(await lettersTo(email)).toEqual([1, 0])
    expect((await third.admin.post('/users', { email, name: 'Bea' })).status).toBe(201)
  })
})
