/** Two people in one ticket: each sees what the other does, and one who is alone asks nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { enter, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'
import { ADMIN, until } from '../support/service'

describe.skipIf(whyNoConsole() !== undefined)('together', () => {
  let desk: StartedConsole
  const bob = { email: 'bob@desk.example', password: 'bobs own password' }

  beforeAll(async () => {
    desk = await startConsole()
    await desk.service().call('POST', '/users', { ...bob, name: 'Bob' })
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  test('presence and drafts come without being asked for, and one who is alone asks nothing', async () => {
    const subject = await desk.mail('Somebody else is here')
    const context = await desk.profile()
    await context.clock.install()
    const first = await context.newPage()
    const asked: string[] = []
    first.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`))
    const shared = () => asked.filter((one) => /viewing$|drafts$/.test(one))
    await first.goto(desk.service().url)
    await enter(first, ADMIN.email, ADMIN.password)
    await openTicket(first, subject)
    await first.clock.runFor(2000)
    await until('the page has said that it is here', () => shared().some((one) => one.endsWith('viewing')))
    await first.clock.runFor(2000)
    asked.length = 0
    // Longer than between two readings without notices; the stream is given up after 40 s of silence.
    await first.clock.runFor(35_000)
    expect(shared()).toEqual([])
    await first.clock.resume()

    const second = await desk.open({}, bob)
    await openTicket(second, subject)
    await first.locator('.viewer', { hasText: 'Bob' }).waitFor()
    await second.locator('.viewer', { hasText: 'Admin' }).waitFor()
    await second.getByPlaceholder('Reply to carla@customer.example').fill('I am on it.')
    await first.locator('.viewer.is-writing', { hasText: 'Bob' }).waitFor()

    const { id } = (await desk.service().call('GET', '/tickets?sort=-created_at')).body.data[0]
    const { key } = (await desk.service().call('POST', '/api-keys', { name: 'Robot', permissions: ['*:write'] })).body
      .data
    const draft = await fetch(`${desk.service().url}/api/v1/tickets/${id}/drafts`, {
      method: 'POST',
      headers: { authorization: `ApiKey ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ body: 'Have you tried to turn it off?' }),
    })
    expect(draft.status).toBe(201)
    await first.getByRole('article', { name: /Robot/ }).waitFor()
    await desk.service().call('DELETE', `/drafts/${(await draft.json()).data.id}`)
    await first.getByRole('article', { name: /Robot/ }).waitFor({ state: 'detached' })

    await second.close({ runBeforeUnload: false })
    const third = await desk.open({}, bob)
    await openTicket(third, subject)
    await third.getByPlaceholder('Reply to carla@customer.example').waitFor()
    await third.goBack()
    await first.locator('.viewer', { hasText: 'Bob' }).waitFor({ state: 'detached' })
    for (const page of [first, third]) await page.context().close()
  })
})
