/** The session of the console: what keeps it, what ends it, and what cannot reach it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { leave, openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'

const PORTAL = 'http://portal.example/'
/** The name of the console's channel, and of its place in the storage of a tab. */
const [CHANNEL, KEPT] = ['deskwire', 'deskwire session']

describe.skipIf(whyNoConsole() !== undefined)('the session', () => {
  let desk: StartedConsole

  beforeAll(async () => {
    desk = await startConsole(() => ({ LOG_LEVEL: 'debug' }))
  })
  afterAll(async () => {
    await desk.stop()
    const expected = [PORTAL, 'Blocked script execution', 'Running the JavaScript URL']
    expect(desk.faults.filter((fault) => !expected.some((one) => fault.includes(one)))).toEqual([])
  })

  const kept = (page: Page) => page.evaluate((name) => sessionStorage.getItem(name), KEPT)
  const tokens = async (page: Page) => {
    const { access_token, refresh_token } = JSON.parse((await kept(page))!)
    return [access_token, refresh_token] as string[]
  }
  /** Another tab of the same browser, once it shows the inbox or the sign-in. */
  async function another(page: Page, address = desk.service().url): Promise<Page> {
    const tab = await page.context().newPage()
    await tab.goto(address)
    await tab.locator('.rail nav, input[name=password]').waitFor()
    return tab
  }
  const asksForPassword = (page: Page) => page.locator('input[name=password]').waitFor()
  const goesOn = (page: Page) => page.locator('.rail nav').waitFor()

  test('a reload stays at the ticket with its draft, and shows the tokens to nobody', async () => {
    const subject = await desk.mail('Loaded again')
    const page = await desk.open()
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    await openTicket(page, subject)
    const address = page.url()
    const area = page.getByPlaceholder('Reply to carla@customer.example')
    await area.fill('Half of an ans')
    await page.getByText('Saved as a draft').waitFor()
    for (let time = 0; time < 2; time++) {
      await page.reload()
      await page.getByRole('heading', { name: subject }).waitFor()
      await page.getByText('Saved as a draft').waitFor()
    }
    expect([page.url(), await area.inputValue()]).toEqual([address, 'Half of an ans'])
    const [access_token, refresh_token] = await tokens(page)
    const places = [
      ...addresses,
      await page.content(),
      desk.service().output(),
      await page.evaluate(() => document.cookie),
    ]
    expect(places.some((one) => one.includes(access_token!) || one.includes(refresh_token!))).toBe(false)
    // An access token that has expired is renewed.
    await page.evaluate((name) => {
      sessionStorage.setItem(name, JSON.stringify({ ...JSON.parse(sessionStorage.getItem(name)!), access_token: 'x' }))
    }, KEPT)
    await page.reload()
    await page.getByText('Saved as a draft').waitFor()
    expect((await tokens(page))[1]).toBe(refresh_token!)
    await page.context().close()
  })

  test('a new tab goes on, and signing out in one ends all and leaves nothing', async () => {
    const page = await desk.open()
    const tab = await another(page)
    await goesOn(tab)
    await tab.reload()
    await goesOn(tab)
    expect(await tokens(tab)).toEqual(await tokens(page))
    const [access_token] = await tokens(page)
    await leave(page)
    for (const one of [page, tab]) {
      await asksForPassword(one)
      expect(await kept(one)).toBeNull()
      await one.reload()
      await asksForPassword(one)
    }
    const headers = { authorization: `Bearer ${access_token}` }
    expect((await fetch(`${desk.service().url}/api/v1/auth/me`, { headers })).status).toBe(401)
    await page.context().close()
  })

  test('a session that is ended elsewhere is kept nowhere, and its tabs go on with a new one', async () => {
    const { call } = desk.service()
    const bob = { email: 'bob@desk.example', password: 'bobs own password' }
    const { id } = (await call('POST', '/users', { ...bob, name: 'Bob' })).body.data
    const page = await desk.open({}, bob)
    const tab = await another(page)
    const old = await kept(tab)
    const [access_token] = await tokens(page)
    const headers = { authorization: `Bearer ${access_token}` }
    await fetch(`${desk.service().url}/api/v1/auth/sessions`, { headers })
      .then((response) => response.json())
      .then(({ data }) => data.find((one: { current: boolean }) => one.current).id)
      .then((session) => fetch(`${desk.service().url}/api/v1/auth/sessions/${session}`, { method: 'DELETE', headers }))
    for (const one of [page, tab]) {
      await one.getByRole('dialog').getByText('Sign in').first().waitFor()
      expect(await kept(one)).toBeNull()
    }
    await page.locator('input[name=password]').fill(bob.password)
    await page.keyboard.press('Enter')
    for (const one of [page, tab]) await one.getByRole('dialog').waitFor({ state: 'detached' })
    // A tab that slept meanwhile comes back with what it had, and asks the others.
    await tab.evaluate(([name, value]) => sessionStorage.setItem(name!, value!), [KEPT, old!])
    await tab.reload()
    await goesOn(tab)
    const [, renewed] = await tokens(page)
    await tab.waitForFunction(([name, part]) => sessionStorage.getItem(name!)?.includes(part!), [KEPT, renewed])

    expect((await call('PATCH', `/users/${id}`, { active: false })).status).toBe(200)
    // A tab that has not heard of it yet would give what it has to the other.
    for (const one of [page, tab]) {
      await one.getByRole('dialog').getByText('Sign in').first().waitFor()
      expect(await kept(one)).toBeNull()
    }
    for (const one of [page, tab]) {
      await one.reload()
      await asksForPassword(one)
      expect(await one.locator('.rail nav').count()).toBe(0)
    }
    await page.context().close()
  })

  test('a page of another origin and a hostile message do not reach it', async () => {
    const subject = await desk.mail('Let me in')
    const page = await desk.open()
    await page.context().route(PORTAL, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Portal</p>' }))
    const portal = await page.context().newPage()
    await portal.goto(PORTAL)
    await portal.evaluate((name) => {
      const channel = new BroadcastChannel(name)
      const heard: unknown[] = []
      channel.onmessage = ({ data }) => heard.push(data)
      Object.assign(window, { heard })
      channel.postMessage('ask')
      channel.postMessage('out')
    }, CHANNEL)
    // The console answers its own tab after it has heard the other page.
    const tab = await another(page)
    await goesOn(tab)
    await portal.evaluate((name) => new BroadcastChannel(name).postMessage('the end'), CHANNEL)
    const heard = () => portal.evaluate(() => Reflect.get(window, 'heard') as unknown[])
    await portal.waitForFunction(() => Reflect.get(window, 'heard').length > 0)
    expect([await heard(), await kept(portal)]).toEqual([['the end'], null])

    // A message that got by what cleans it.
    await openTicket(page, subject)
    await page.locator('iframe').first().waitFor({ state: 'attached' })
    await page.waitForFunction((name) => {
      const frames = [...document.querySelectorAll('iframe')]
      const body = frames.map((one) => one.contentDocument?.body).find((one) => one?.baseURI.includes('console/frame'))
      if (!body) return false
      const steal = `new BroadcastChannel('${name}').postMessage('out'); parent.sessionStorage.clear()`
      const script = body.ownerDocument.createElement('script')
      script.text = steal
      body.append(script)
      body.insertAdjacentHTML(
        'beforeend',
        `<img src="data:," onerror="${steal}"><iframe src="javascript:${steal}"></iframe>`,
      )
      Object.assign(window, { image: body.querySelector('img:last-of-type') })
      return true
    }, CHANNEL)
    await page.waitForFunction(() => Reflect.get(window, 'image').complete)
    await page.reload()
    await page.getByRole('heading', { name: subject }).waitFor()
    await tab.reload()
    await goesOn(tab)
    expect(await tokens(tab)).toEqual(await tokens(page))
    await page.context().close()
  })
})
