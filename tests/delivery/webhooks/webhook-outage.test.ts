/** Unreachable receivers: an outage is theirs, or ours when most of the receivers cannot be reached. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { log } from '../../../src/base/log'
import { OutageWatch } from '../../../src/delivery/webhooks/outage'
import { createOrganization, startApi, stopApi } from '../../support/api'
import { createWebhook, deliverDue, deliveriesOf, emit, makeDue, queueOf } from '../../support/webhooks'

const MINUTE = 60_000

/**
 * A watch with its own clock; each step is a host, `!` before it when it cannot be reached. Hosts belong to one
 * organization, unless another one stands before them: `x/a`.
 */
function watch() {
  let now = 0
  const watch = new OutageWatch(() => now)
  return {
    isOurs: () => watch.isOurs(),
    wait(ms: number) {
      now += ms
    },
    try: (hosts: string) => {
      for (const step of hosts.split(' ')) {
        const [host, organization = 'own'] = step.replace('!', '').split('/').reverse()
        watch.note(organization, host!, !step.startsWith('!'))
      }
      return watch.isOurs()
    },
  }
}

describe('an outage of ours', () => {
  test.each([
    ['needs most of the hosts', '!a !b !c d', true],
    ['is not half of them', '!a !b c d', false],
    ['is not one of many', 'a b c d e !f', false],
    ['needs four hosts: one dead endpoint', '!a !a !a !a !a', false],
    ['needs four hosts: three dead endpoints', '!a !b !c !a !b !c', false],
    ['counts a host by its last attempt', '!a !b !c d a', false],
    ['counts a host once', '!a !a !a !a b c d', false],
    ['is what takes all of many', '!a !b !c !d !e !f', true],
    ['is what cuts off most of the organizations', '!p/a !q/a !r/a s/a', true],
    ['is not what cuts off half of them', '!p/a !q/a r/a s/a', false],
    ['needs four organizations, or one alone', '!p/a !p/b !p/c !p/d !p/e !q/a !r/a', false],
    ['is not one organization with many dead hosts', '!p/a !p/b !p/c !p/d !p/e !p/f !p/g q/a r/a s/a', false],
    ['is not the failure of another beside many dead hosts', '!p/a !p/b !p/c !p/d !p/e !p/f !p/g !q/a', false],
    ['counts an organization by most of its hosts', '!p/a p/b p/c !q/a !r/a !s/a s/b', false],
  ])('%s', (_, hosts, ours) => {
    expect(watch().try(hosts)).toBe(ours)
  })

  test('is seen in what was tried within a minute', () => {
    const slow = watch()
    slow.try('!a !b')
    slow.wait(MINUTE)
    expect(slow.try('!c !d')).toBe(false)
    slow.wait(MINUTE - 1)
    expect(slow.try('!a !b')).toBe(true)
  })

  test('goes on while what was put off for a minute fails again', () => {
    const { wait, try: attempt, isOurs } = watch()
    attempt('!a !b !c !d')
    for (let minutes = 0; minutes < 120; minutes++) {
      wait(MINUTE + 5000)
      expect(attempt('!a')).toBe(true)
      expect(attempt('!b !c !d')).toBe(true)
    }
    wait(3 * MINUTE)
    expect(isOurs()).toBe(false)
  })

  test('ends when half of the hosts answer again', () => {
    const { try: attempt } = watch()
    expect(attempt('!a !b !c !d')).toBe(true)
    expect(attempt('a')).toBe(true)
    expect(attempt('b')).toBe(false)
  })

  test('does not excuse dead endpoints for ever when others answer', () => {
    const { wait, try: attempt } = watch()
    for (let minutes = 0; minutes < 30; minutes++) {
      expect(attempt('!a !b !c d')).toBe(true)
      wait(MINUTE)
    }
    wait(1)
    expect(attempt('!a !b !c d')).toBe(false)
    expect(attempt('a b c d')).toBe(false)
    expect(attempt('!a !b !c d')).toBe(true)
  })

  test('excuses a total outage however long it lasts, and the others for a while after it', () => {
    const { wait, try: attempt } = watch()
    for (let minutes = 0; minutes < 300; minutes++) {
      expect(attempt('!a !b !c !d')).toBe(true)
      wait(MINUTE)
    }
    expect(attempt('a !b !c !d')).toBe(true)
  })

  test('is warned of once, and so is its end', () => {
    using warn = spyOn(log, 'warn').mockImplementation(() => {})
    const { try: attempt } = watch()
    attempt('!a !b !c !d !e !a !b !c')
    expect(warn.mock.calls).toEqual([[{ of: 'hosts', all: 4, unreached: 4 }, expect.stringContaining('our network')]])
    attempt('a b c')
    expect(warn.mock.calls.slice(1)).toEqual([[{ of: 'hosts', all: 5, unreached: 2 }, expect.any(String)]])
  })

  test('is found among the latest 10,000 hosts', () => {
    const { try: attempt } = watch()
    attempt(Array.from({ length: 10_000 }, (_, n) => `!dead${n}`).join(' '))
    expect(attempt(Array.from({ length: 4999 }, (_, n) => `good${n}`).join(' '))).toBe(true)
    expect(attempt('good')).toBe(false)
  })
})

describe('deliveries', () => {
  beforeAll(() => startApi())
  afterAll(stopApi)

  test('to hosts that cannot be reached during an outage of ours wait a minute and do not count', async () => {
    const { admin, scope } = await createOrganization()
    const hooks: string[] = []
    // Nothing listens on port 1 of these; loopback has many addresses, each of which counts as one host.
    for (const host of [2, 3, 4]) hooks.push((await createWebhook(admin, { url: `https://127.0.0.${host}:1/` })).id)
    await emit(scope)
    await deliverDue()
    for (const id of hooks) expect(await queueOf(scope, id)).toMatchObject([{ attempts: 1 }])

    // The fourth host makes it an outage.
    hooks.push((await createWebhook(admin, { url: 'https://127.0.0.5:1/' })).id)
    await emit(scope)
    await deliverDue()
    const [queued] = await queueOf(scope, hooks[3]!)
    expect(queued).toMatchObject({ attempts: 0, claims: 0 })
    expect(queued!.due_in_s).toBeGreaterThan(50)
    expect(queued!.due_in_s).toBeLessThanOrEqual(60)
    expect((await deliveriesOf(admin, hooks[3]!))[0]).toMatchObject({ status: 'pending', attempts: 0 })

    const attempts = async () => {
      const queues = await Promise.all(hooks.map((id) => queueOf(scope, id)))
      return queues.flat().map((row) => [row.id, row.attempts])
    }
    const before = await attempts()
    await makeDue(scope)
    await deliverDue()
    expect(await attempts()).toEqual(before)
  })

  test('of an organization count although another one names many dead hosts', async () => {
    const [noisy, other] = [await createOrganization(), await createOrganization()]
    // More than half of all hosts that were tried.
    for (const host of [6, 7, 8, 9]) await createWebhook(noisy.admin, { url: `https://127.0.0.${host}:1/` })
    const { id } = await createWebhook(other.admin, { url: 'https://127.0.0.10:1/' })
    await Promise.all([emit(noisy.scope), emit(other.scope)])
    await deliverDue()
    expect(await queueOf(other.scope, id)).toMatchObject([{ attempts: 1 }])
  })
})
