/** The memory of the page after a day of work. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openTicket, type StartedConsole, startConsole, whyNoConsole } from '../support/console'

const OPENINGS = 500
const TICKETS = 10
/** Caches of the browser and of compiled code grow a little. */
const MOST_MORE = { nodes: 500, bytes: 4_000_000 }

describe.skipIf(whyNoConsole() !== undefined)('memory', () => {
  let desk: StartedConsole

  beforeAll(async () => {
    desk = await startConsole()
  })
  afterAll(async () => {
    await desk.stop()
    expect(desk.faults).toEqual([])
  })

  test(`${OPENINGS} openings leave memory and nodes where they were`, async () => {
    const html = '<p style="color: red">Hello</p>'
    for (let number = 1; number <= TICKETS; number++) await desk.mail(`Question ${number}.`, html)
    const page = await desk.open()
    await page
      .locator('.row')
      .nth(TICKETS - 1)
      .waitFor()
    await openTicket(page, 'Question 1.')
    const session = await page.context().newCDPSession(page)
    const openEach = (times: number) =>
      page.evaluate(async (times) => {
        const links = [...document.querySelectorAll<HTMLAnchorElement>('.list .row a')]
        for (let time = 0; time < times; time++) {
          const link = links[time % links.length]!
          const subject = link.querySelector('.subject')!.textContent
          link.click()
          do await new Promise(requestAnimationFrame)
          while (
            document.querySelector('.head h1')?.textContent !== subject ||
            !document.querySelector('.messages .message')
          )
        }
      }, times)
    const measure = async () => {
      for (let time = 0; time < 3; time++) await session.send('HeapProfiler.collectGarbage')
      const { nodes } = (await session.send('Memory.getDOMCounters')) as { nodes: number }
      const { usedSize: bytes } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number }
      return { nodes, bytes }
    }
    await openEach(3 * TICKETS)
    const before = await measure()
    await openEach(OPENINGS)
    const after = await measure()
    console.info(`memory: ${JSON.stringify({ before, after })}`)
    expect(after.nodes - before.nodes).toBeLessThan(MOST_MORE.nodes)
    expect(after.bytes - before.bytes).toBeLessThan(MOST_MORE.bytes)
    await page.context().close()
  })
})
