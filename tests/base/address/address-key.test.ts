/**
 * One key for addresses: PostgreSQL, JavaScript and Unicode have more letters that fold to ASCII than mail servers
 * know.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { addressKey } from '../../../src/base/address/email'
import { newId } from '../../../src/base/db/columns'
import { connection } from '../../../src/base/db/pool'
import { PASSWORD, stranger } from '../../support/api'
import { createDesk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { createContact, createTicket, insertMailbox } from '../../support/factories'
import { deliver, importMail, ledgerOf, rawMail } from '../../support/mail'

let started: StartedDesk
/** Letters outside of ASCII that PostgreSQL or JavaScript writes in lower or upper case as ASCII, with that letter. */
let letters: { letter: string; ascii: string }[]

beforeAll(async () => {
  started = await startDesk()
  const rows = await connection().sql<{ letter: string; folded: string[] }[]>`
    select chr(n) as letter, array[lower(chr(n)), upper(chr(n)), normalize(chr(n), nfkc)] as folded
    from generate_series(128, 1114111) n where n not between 55296 and 57343`
  letters = rows.flatMap(({ letter, folded }) => {
    const all = [...folded, letter.toLowerCase(), letter.toUpperCase(), letter.normalize('NFKC')]
    const ascii = all.find((text) => /^[a-z]+$/i.test(text))?.toLowerCase()
    return ascii ? [{ letter, ascii }] : []
  })
})
afterAll(() => started.stop())

test('no letter beside A to Z folds to another in the local part, nor one that people write in Turkish', () => {
  expect(letters.length).toBeGreaterThan(400)
  const found = letters.map(({ letter }) => letter)
  expect(found).toEqual(expect.arrayContaining(['İ', '\u212a', 'ſ', 'ﬀ', 'Ａ']))
  for (const { letter, ascii } of letters) {
    expect([letter, addressKey(`x${letter}@a.example`)]).toEqual([letter, `x${letter}@a.example`])
    expect(addressKey(`x${ascii}@a.example`)).not.toBe(addressKey(`x${letter}@a.example`))
  }
  expect(addressKey('ADMIN@A.example')).toBe('admin@a.example')
  expect(addressKey('DIŞ@a.example')).toBe('diŞ@a.example')
  expect(new Set(['ı', 'i', 'İ'].map((letter) => addressKey(`${letter}@a.example`))).size).toBe(3)
})

test('a domain is what the domain name system makes of it (UTS 46)', () => {
  const keys = (...domains: string[]) => [...new Set(domains.map((domain) => addressKey(`a@${domain}`)))]
  expect(keys('MÜNCHEN.test', 'münchen.test', 'xn--mnchen-3ya.test', 'XN--Mnchen-3YA.TEST')).toHaveLength(1)
  expect(keys('vİctim.example')).toEqual(['a@xn--victim-qyd.example'])
  expect(keys('vıctim.example')).toEqual(['a@xn--vctim-n4a.example'])
  expect(keys('faß.example', 'fass.example')).toHaveLength(2)
  // These letters are no letters of domains: they are read as the ones that they look like.
  expect(keys('\u212aauf.example', 'ſupport.example', 'ａｂ.example')).toEqual(
    ['kauf', 'support', 'ab'].map((name) => `a@${name}.example`),
  )
  expect(keys('LOCALHOST', '[10.0.0.1]', 'Ünder_score.example')).toEqual(
    ['localhost', '[10.0.0.1]', 'Ünder_score.example'].map((domain) => `a@${domain}`),
  )
})

test('each letter that folds to ASCII is another contact', async () => {
  const { agent } = await createDesk()
  for (const { letter, ascii } of letters.filter(({ letter }) => ['İ', '\u212a', 'ſ', 'ﬁ', 'Ａ'].includes(letter))) {
    const local = `x${letter}.${newId()}`
    await createContact(agent, { email: `${local}@customer.test` })
    await createContact(agent, { email: `${local.replace(letter, ascii)}@customer.test` })
  }
})

describe("mail from a domain that differs from the customer's by a letter that PostgreSQL folds", () => {
  test('is not filed as the customer, and shows the address as it was written', async () => {
    const desk = await createDesk({ smtp: smtpTo(NO_SERVER) })
    const contact = await createContact(desk.agent, { email: 'vic@victim.example', name: 'Vic' })
    const ticket = await createTicket(desk.agent, { contact_id: contact.id })
    for (const From of ['Vic <vic@vİctim.example>', 'Vic <vİc@victim.example>', 'Vic <vic@xn--victim-qyd.example>']) {
      const raw = rawMail({
        From,
        To: desk.address,
        Subject: `Re: [${ticket.code}]`,
        Message_ID: `<${newId()}@x.example>`,
      })
      const row = await importMail(desk.admin, desk.mailbox_id, raw)
      expect(row).toMatchObject({ outcome: 'ticket', rule: 'new' })
      const [message] = (await desk.agent.get(`/tickets/${row.ticket_id}/messages`)).body.data
      expect(`Vic <${message.sender.email}>`).toBe(From)
      expect((await desk.agent.get(`/tickets/${row.ticket_id}`)).body.data.contact.id).not.toBe(contact.id)
    }
  })

  test('the sender of a message is as the mail has it, also when the contact is written in another way', async () => {
    const desk = await createDesk({ smtp: smtpTo(NO_SERVER) })
    const contact = await createContact(desk.agent, { email: 'Vic@Victim.example' })
    const row = await importMail(desk.admin, desk.mailbox_id, rawMail({ From: 'vic@victim.EXAMPLE', To: desk.address }))
    const ticket = (await desk.agent.get(`/tickets/${row.ticket_id}`)).body.data
    expect(ticket.contact).toMatchObject({ id: contact.id, email: 'Vic@Victim.example' })
    expect(ticket.messages[0].sender.email).toBe('vic@victim.EXAMPLE')
  })
})

describe('sign-in', () => {
  const signIn = (email: string, password: string) => stranger().post('/auth/login', { email, password })

  test('finds no account by a letter that the database folds', async () => {
    const { admin } = await createDesk()
    expect((await signIn(admin.email.toUpperCase(), PASSWORD)).status).toBe(200)
    expect((await signIn(admin.email.replace('admin', 'admİn'), PASSWORD)).status).toBe(401)
    expect((await signIn(admin.email.replace('deskwire', 'des\u212awire'), PASSWORD)).status).toBe(200)
  })

  test('knows an international domain by both spellings, and counts failures of both together', async () => {
    const { admin } = await createDesk()
    const [local, password] = [newId(), 'a long password']
    await admin.post('/users', { email: `${local}@münchen.test`, name: 'Kauf', password })
    expect((await signIn(`${local.toUpperCase()}@xn--mnchen-3ya.test`, password)).status).toBe(200)
    const again = await admin.post('/users', { email: `${local}@XN--MNCHEN-3YA.test`, name: 'Kauf', password })
    expect([again.status, again.body.error.code]).toEqual([422, 'EMAIL_ALREADY_EXISTS'])
    for (let failure = 0; failure < 10; failure++) {
      expect((await signIn(`${local}@${failure % 2 ? 'münchen.test' : 'xn--mnchen-3ya.test'}`, 'wrong')).status).toBe(
        401,
      )
    }
    expect((await signIn(`${local}@MÜNCHEN.test`, password)).status).toBe(429)
  })
})

test('mail comes to a mailbox by both spellings of its domain, with and without a tag, and not by a letter like its own', async () => {
  const desk = await createDesk()
  const local = `kiss.${newId()}`
  const { id } = await insertMailbox(desk.scope, { address: `${local}@münchen.test`, is_default: false })
  for (const to of [`${local}@xn--mnchen-3ya.test`, `${local.toUpperCase()}+Tag@MÜNCHEN.test`]) {
    await deliver(started.port, { to, raw: rawMail({ From: 'ann@customer.test', To: to, Subject: newId() }) })
    expect((await ledgerOf(desk))[0]).toMatchObject({ outcome: 'ticket', mailbox: { id } })
  }
  const other = deliver(started.port, { to: `${local.replace('k', '\u212a')}@münchen.test`, raw: rawMail({}) })
  await expect(other).rejects.toThrow('550')
})
