/** Tickets that are read at the same time share statements, and nothing else. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { newId } from '../../../src/base/db/columns'
import { createOrganization, stopApi } from '../../support/api'
import { createMessage, createTicket } from '../../support/factories'
import { type StatementCounter, startCountedApi } from '../../support/statement-counter'

let counter: StatementCounter

beforeAll(async () => {
  counter = await startCountedApi(5)
})
afterAll(async () => {
  await stopApi()
  counter.stop()
})

async function createDesk(name: string) {
  const { agent } = await createOrganization(name)
  const small = await createTicket(agent, { subject: `Small of ${name}`, description: `Text of ${name}` })
  await createMessage(agent, small.id, { body: `Note of ${name}`, is_internal: true })
  const empty = await createTicket(agent, { subject: `Empty of ${name}`, description: undefined })
  const large = await createTicket(agent, { subject: `Large of ${name}`, description: `${name} `.repeat(20_000) })
  return { agent, tickets: [small, empty, large] }
}

test('each request gets its own ticket, whatever others ask for at the same time', async () => {
  const desks = [await createDesk('one'), await createDesk('two')]
  const asked = desks.flatMap(({ agent, tickets }) => tickets.map((ticket) => ({ agent, ticket })))
  const alone = []
  for (const { agent, ticket } of asked) alone.push(await agent.get(`/tickets/${ticket.id}`))

  const together = await Promise.all(
    [...asked, ...asked].map(({ agent, ticket }) => agent.get(`/tickets/${ticket.id}`)),
  )

  expect(together.map(({ body }) => body)).toEqual([...alone, ...alone].map(({ body }) => body))
  expect(together.map(({ body }) => body.data.messages.length)).toEqual([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1])
  expect(together.map(({ headers }) => headers.get('etag'))).toEqual(
    [...alone, ...alone].map(({ headers }) => headers.get('etag')),
  )
})

test('an unknown ticket, and one of another organization, are not found beside those that are', async () => {
  const [own, other] = [await createDesk('own'), await createDesk('other')]
  const ids = [own.tickets[0].id, newId(), other.tickets[0].id, own.tickets[1].id]
  const answers = await Promise.all([
    ...ids.map((id) => own.agent.get(`/tickets/${id}`)),
    ...ids.map((id) => other.agent.get(`/tickets/${id}`)),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 200, 404, 404, 200, 404])
})

test('forty requests at once need few statements', async () => {
  const { agent, tickets } = await createDesk('many')
  const read = () => agent.get(`/tickets/${tickets[0].id}`)
  await read()
  const { statements } = await counter.during(() => Promise.all(Array.from({ length: 40 }, read)))
  expect(statements.length).toBeLessThan(15)
})
