import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { TICKET_STATUSES } from '../../../src/base/db/schema'
import { createOrganization, type Organization, startApi, stopApi } from '../../support/api'
import { createTicket } from '../../support/factories'

let organization: Organization

beforeAll(async () => {
  await startApi()
  organization = await createOrganization()
})
afterAll(stopApi)

/** The transitions of the interface, written a second time: the code's own table would always agree with itself. */
const ALLOWED: Record<string, string[]> = {
  open: ['pending', 'resolved', 'closed'],
  pending: ['open', 'resolved', 'closed'],
  resolved: ['open', 'closed'],
  closed: ['open'],
}

const PAIRS = TICKET_STATUSES.flatMap((from) => TICKET_STATUSES.map((to) => [from, to] as const))

describe('status', () => {
  test.each(PAIRS.filter(([from, to]) => ALLOWED[from]!.includes(to)))('%s becomes %s', async (from, to) => {
    const id = await ticketIn(from)
    const answer = await organization.agent.patch(`/tickets/${id}`, { status: to })
    expect(answer.status).toBe(200)
    expect(answer.body.data.status).toBe(to)
    expect(await statusOf(id)).toBe(to)
  })

  test.each(PAIRS.filter(([from, to]) => from === to))('%s stays %s without a change', async (from, to) => {
    const id = await ticketIn(from)
    const answer = await organization.agent.patch(`/tickets/${id}`, { status: to })
    expect(answer.status).toBe(200)
    expect(answer.body.data.status).toBe(to)
  })

  test.each(PAIRS.filter(([from, to]) => from !== to && !ALLOWED[from]!.includes(to)))(
    '%s never becomes %s, and nothing else of the request happens',
    async (from, to) => {
      const id = await ticketIn(from)
      const answer = await organization.agent.patch(`/tickets/${id}`, { subject: 'New', status: to })
      expect(answer.status).toBe(422)
      expect(answer.body.error).toEqual({
        code: 'INVALID_STATUS',
        message: expect.any(String),
        details: {
          from,
          to,
          allowed: ALLOWED[from]!,
          errors: [{ path: '/status', message: expect.stringContaining(ALLOWED[from]![0]!) }],
        },
      })
      const { data } = (await organization.agent.get(`/tickets/${id}`)).body
      expect(data).toMatchObject({ status: from, subject: 'Printer on fire' })
    },
  )

  test('a forbidden status comes before an unknown assignee, and both are told', async () => {
    const id = await ticketIn('closed')
    const answer = await organization.agent.patch(`/tickets/${id}`, { status: 'pending', assignee_id: 'nobody' })
    expect(answer.body.error.code).toBe('INVALID_STATUS')
    expect(answer.body.error.details).toMatchObject({
      from: 'closed',
      errors: [{ path: '/status' }, { path: '/assignee_id' }],
    })
  })

  test('of two changes at the same time the second is judged by the first', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await ticketIn('open')
      const answers = await Promise.all(
        ['pending', 'closed', 'resolved'].map((status) => organization.agent.patch(`/tickets/${id}`, { status })),
      )
      // Every status may become closed, and from there neither of the others can follow, whatever the order.
      expect(answers[1]!.status).toBe(200)
      expect(await statusOf(id)).toBe('closed')
      for (const { body } of answers.filter((answer) => answer.status === 422)) {
        expect(body.error.details.allowed).toEqual(ALLOWED[body.error.details.from]!)
      }
    }
  })
})

/** A ticket that came into the status the way tickets do. */
async function ticketIn(status: string): Promise<string> {
  const { id } = await createTicket(organization.agent)
  if (status !== 'open') await organization.agent.patch(`/tickets/${id}`, { status })
  return id
}

async function statusOf(id: string): Promise<string> {
  return (await organization.agent.get(`/tickets/${id}`)).body.data.status
}
