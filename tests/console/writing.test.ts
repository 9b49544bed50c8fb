/** The keeping of all that was typed: the page's real code, with the real service behind it. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Api } from '../../src/console/page/api'
import { Writing } from '../../src/console/page/inbox/writing'
import { saveWritings, writingOf } from '../../src/console/page/inbox/writings'
import { signInWith, signOut } from '../../src/console/page/sign-in'
import type { Message } from '../../src/desk/messages/model'
import { api, type Client, createOrganization, type Organization, PASSWORD, startApi, stopApi } from '../support/api'
import { createProgram } from '../support/api-keys'
import { createMessage, insertTicket } from '../support/factories'
import { until } from '../support/service'

const { fetch } = globalThis
/** The tab has no storage here: nothing loads the page again. */
globalThis.sessionStorage = { setItem() {}, removeItem() {} } as unknown as Storage
/** Answers instead of the service. @param answer sends it to the service */
let instead: ((answer: () => Promise<Response>, path: string, method: string) => Promise<Response>) | undefined

let organization: Organization
let agent: Client
let ticket: { id: string }
let desk: Api

beforeAll(async () => {
  await startApi()
  globalThis.fetch = (async (path: string, init: RequestInit = {}) => {
    const answer = () => api().handle(new Request(new URL(path, 'http://localhost'), init))
    return instead ? instead(answer, path, init.method ?? 'GET') : answer()
  }) as typeof fetch
})
afterAll(async () => {
  globalThis.fetch = fetch
  await stopApi()
})
beforeEach(async () => {
  instead = undefined
  organization = await createOrganization()
  agent = organization.agent
  ticket = await insertTicket(organization.scope)
  expect(await signInWith(agent.email, PASSWORD)).toBeUndefined()
  desk = new Api(organization.id)
})

/** The composer of another page: another tab or another computer. */
const openPage = async (is_internal = false) => {
  const page = new Writing(desk, ticket.id, is_internal)
  expect(await look(page)).toBe(true)
  return page
}

/** Reads the drafts as the page does. @returns false when the draft of the page is gone */
async function look(page: Writing, meanwhile?: () => void): Promise<boolean> {
  const { turn } = page
  const drafts = await listDrafts()
  meanwhile?.()
  return page.take(drafts, agent.user_id, turn, await messages())
}

const listDrafts = async () => (await agent.get(`/drafts?ticket_id=${ticket.id}`)).body.data
const messages = async (): Promise<Message[]> => (await agent.get(`/tickets/${ticket.id}/messages`)).body.data
const type = async (page: Writing, text: string) => page.write({ text }, await messages())
const textOf = (page: Writing) => page.cell.value.text

test('what is typed is kept after a rest, is found by another page, and goes when it is emptied', async () => {
  const page = await openPage()
  const markup = '<img src=x onerror=alert(1)>\r\n{{ticket.code}}'
  await type(page, markup)
  expect(page.isUnsaved).toBe(true)
  await until('it is kept', () => !page.isUnsaved)
  const other = await openPage()
  expect([textOf(other), other.isUnsaved]).toEqual([markup, false])
  expect((await openPage(true)).isEmpty).toBe(true)
  await type(other, '  ')
  expect([await other.save(), await listDrafts()]).toEqual([true, []])
})

test('a page where nothing is typed follows the other, one where something is typed does not', async () => {
  const [one, two] = [await openPage(), await openPage()]
  await type(one, 'First')
  await one.save()
  await type(two, 'Second')
  // Both make a draft: the service takes one.
  expect(await two.save()).toBe(false)
  expect(two.cell.value.other?.draft.body).toBe('First')
  await expect(two.send()).rejects.toThrow('changed elsewhere')
  two.keepThis()
  expect(await two.save()).toBe(true)
  expect(await look(one)).toBe(true)
  expect(textOf(one)).toBe('Second')

  // Both change it.
  await type(one, 'Third')
  await one.save()
  await type(two, 'Fourth')
  await look(two)
  expect(textOf(two)).toBe('Fourth')
  expect(await two.save()).toBe(false)
  const { draft, etag } = two.cell.value.other!
  two.use(draft, await messages(), etag)
  expect([textOf(two), two.isUnsaved, (await listDrafts())[0].body]).toEqual(['Third', false, 'Third'])
})

test('what was typed while the drafts were read stays', async () => {
  const page = await openPage()
  await type(page, 'Before')
  await page.save()
  const seen = await messages()
  await look(page, () => page.write({ text: 'Before and after' }, seen))
  expect(textOf(page)).toBe('Before and after')
  // An answer that is older than what was saved meanwhile.
  const { turn } = page
  const old = await listDrafts()
  await page.save()
  page.take(old, agent.user_id, turn, seen)
  expect(textOf(page)).toBe('Before and after')
})

test('what could not be saved stays, and is saved later', async () => {
  const page = writingOf(desk, ticket.id, false)
  await type(page, 'In the storm')
  const error = { code: 'INTERNAL_ERROR', message: 'Broken', details: {} }
  instead = async () => Response.json({ error }, { status: 500 })
  expect(await saveWritings()).toBe(false)
  expect([page.isAtRisk, page.cell.value.fault, textOf(page)]).toEqual([true, 'Broken', 'In the storm'])
  expect(await look(page)).toBe(true)
  instead = undefined
  expect([await saveWritings(), (await listDrafts())[0].body]).toEqual([true, 'In the storm'])
  expect([page.isAtRisk, page.cell.value.fault]).toEqual([false, undefined])
})

test('what is typed while it is saved waits for the next rest, unless the page is left', async () => {
  const page = await openPage()
  const saved_ms: number[] = []
  instead = (answer, _path, method) => {
    if (method !== 'GET' && saved_ms.push(performance.now()) < 3) page.write({ text: `${textOf(page)}.` }, [])
    return answer()
  }
  await type(page, 'Word')
  await until('it is kept', () => !page.isUnsaved)
  expect([textOf(page), saved_ms.length, (await listDrafts())[0].body]).toEqual(['Word..', 3, 'Word..'])
  expect(saved_ms.slice(1).every((at_ms, place) => at_ms - saved_ms[place]! > 500)).toBe(true)
  saved_ms.length = 0
  await type(page, 'Left')
  expect([await page.save(), (await listDrafts())[0].body]).toEqual([true, 'Left..'])
})

test('a draft that was sent elsewhere is gone here, but not what was typed since', async () => {
  const [one, two] = [await openPage(), await openPage()]
  await type(one, 'An answer')
  await one.save()
  await look(two)
  await one.send()
  expect(await look(two)).toBe(false)
  expect([textOf(one), textOf(two), await listDrafts()]).toEqual(['', '', []])

  await type(one, 'Another')
  await one.save()
  await look(two)
  await type(two, 'Another, and more')
  await one.send()
  expect([await look(two), await two.save()]).toEqual([true, true])
  expect((await listDrafts()).map(({ body }: { body: string }) => body)).toEqual(['Another, and more'])
  await agent.delete(`/drafts/${(await listDrafts())[0].id}`)
  await expect(two.send()).rejects.toThrow('sent or removed elsewhere')
  expect([textOf(two), (await messages()).length]).toEqual(['Another, and more', 2])
})

test('an answer is not sent over a message that its writer has not seen, and once only', async () => {
  await createMessage(agent, ticket.id, { send_email: false })
  const page = await openPage()
  await type(page, 'An answer')
  await createMessage(organization.admin, ticket.id, { send_email: false })
  await expect(page.send()).rejects.toMatchObject({ code: 'DRAFT_STALE' })
  const later = await openPage()
  expect([textOf(later), later.cell.value.seen.length]).toEqual(['An answer', 1])
  page.see(await messages())
  instead = async (answer, path) => {
    const given = await answer()
    return path.endsWith('/send') ? new Response(null, { status: 500 }) : given
  }
  await expect(page.send()).rejects.toMatchObject({ status: 500 })
  instead = undefined
  expect(textOf(page)).toBe('An answer')
  expect(await page.send()).toMatchObject({ body: 'An answer' })
  expect((await messages()).filter(({ body }) => body === 'An answer')).toHaveLength(1)
})

test("a program's draft is sent in the person's name, and emptying it leaves it", async () => {
  const program = await createProgram(organization.admin, ['drafts:write'])
  const { data: draft } = (await program.post(`/tickets/${ticket.id}/drafts`, { body: 'Prepared' })).body
  const page = await openPage()
  expect(page.isEmpty).toBe(true)
  page.use(draft, [])
  await type(page, '')
  expect([await page.save(), (await listDrafts())[0].body]).toEqual([true, 'Prepared'])
  page.use(draft, [])
  await type(page, 'Prepared, and looked at')
  const message = await page.send()
  expect(message).toMatchObject({ body: 'Prepared, and looked at', drafted_by: { type: 'api_key' } })
  expect(await listDrafts()).toEqual([])
})

test('who signs out leaves nothing here, and a save that runs then removes nothing there', async () => {
  const page = writingOf(desk, ticket.id, false)
  await type(page, 'Mine')
  const [made, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  instead = async (answer, path, method) => {
    const given = await answer()
    if (method !== 'POST' || !path.endsWith('/drafts')) return given
    made.resolve()
    await waiting.promise
    return given
  }
  const saving = page.save()
  await made.promise
  await signOut()
  expect([textOf(page), writingOf(desk, ticket.id, false) === page]).toEqual(['', false])
  waiting.resolve()
  await saving
  expect((await listDrafts()).map(({ body }: { body: string }) => body)).toEqual(['Mine'])
})

test('what leaves later is gone from the page, and stays with the service; the next text is another draft', async () => {
  const page = await openPage()
  await type(page, 'Tomorrow')
  const send_at = new Date(Date.now() + 86_400_000).toISOString()
  await page.sendLater(send_at)
  expect([page.isBlank, textOf(page)]).toEqual([true, ''])
  const [waiting] = await listDrafts()
  expect(waiting).toMatchObject({ body: 'Tomorrow', author: { id: agent.user_id } })
  // It is no text of the composer, here and on another page.
  expect([await look(page), textOf(page), textOf(await openPage())]).toEqual([true, '', ''])
  await type(page, 'Today')
  expect(await page.save()).toBe(true)
  expect((await listDrafts()).map(({ body }: { body: string }) => body)).toEqual(['Today', 'Tomorrow'])
  await expect(page.sendLater(new Date(0).toISOString())).rejects.toThrow()
  expect([textOf(page), page.cell.value.is_leaving]).toEqual(['Today', undefined])
})

test('a page follows what another page sends later', async () => {
  const [one, two] = [await openPage(), await openPage()]
  await type(one, 'Tomorrow')
  await one.save()
  await look(two)
  expect(textOf(two)).toBe('Tomorrow')
  await one.sendLater(new Date(Date.now() + 86_400_000).toISOString())
  expect([await look(two), textOf(two)]).toEqual([false, ''])
})
