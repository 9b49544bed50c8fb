/** Generates requests from the OpenAPI document: mostly good ones, mixed with the mistakes that clients make. */
import fc from 'fast-check'
import { type Answer, type Client, createOrganization, type Organization, stranger } from './api'
import { createProgram } from './api-keys'
import { isForCustomers, manyCustomers } from './customers'
import { type Endpoint, pathWith, type Schema, typesOf, withParameters } from './endpoints'
import { createWorld, goodBody, goodRaw, type World, type WorldId } from './world'

/** A field of a request: the good value of `goodBody`, nothing, or this JSON. */
type Field = 'good' | 'absent' | { json: string }

/** People, programs with a key for everything or for tickets alone, one whose key is revoked, and no credential. */
type Caller = 'admin' | 'agent' | 'program' | 'ticket program' | 'revoked program' | 'stranger'

/** A generated request; ids are filled in when it is sent, so that the same seed gives the same requests. */
export type GeneratedRequest = {
  endpoint: Endpoint
  caller: Caller
  /** The owner of the ids in the path. */
  ids: 'own' | 'foreign' | string
  query: Record<string, string>
  fields: Record<string, Field>
  /** Instead of the body that is made from `fields`. */
  raw?: { text: string; type: string }
  headers: Record<string, string>
}

/** Deletions are rarer, so that there is something left for the others. */
export function anyRequest(endpoints: Endpoint[]): fc.Arbitrary<GeneratedRequest> {
  const choices = endpoints.map((endpoint) => ({
    weight: endpoint.method === 'DELETE' ? 1 : 4,
    arbitrary: requestTo(endpoint),
  }))
  return fc.oneof(...choices)
}

/** Two organizations that requests act on: what is created replaces what is there, and all of it goes now and then. */
export function createPlayground() {
  let place: { callers: Record<Caller, Client>; customers: Client; mine: World; theirs: World } | undefined
  let sent = 0

  async function build() {
    const own = await createOrganization()
    const other = await createOrganization()
    const mine = await createWorld(own)
    const customers = await manyCustomers(own, mine.company_id, 50)
    return { callers: await createCallers(own), customers, mine, theirs: await createWorld(other) }
  }

  return {
    async send(request: GeneratedRequest): Promise<Answer> {
      if (sent++ % REQUESTS_PER_WORLD === 0) place = undefined
      place ??= await build()
      const { callers, customers, mine, theirs } = place
      const { endpoint } = request
      const is_customer = isForCustomers(endpoint) && request.caller === 'admin'
      const client = is_customer ? customers : callers[request.caller]
      const ids = request.ids === 'own' ? mine : request.ids === 'foreign' ? theirs : junkIds(endpoint, request.ids)
      const path = pathWith(endpoint.path, ids)
      const given = mapValues(request.query, (value) => filled(value, mine))
      const query = given.cursor === NEXT_CURSOR ? await withNextCursor(client, path, given) : given
      const { body, type } = contentOf(request, mine)
      const answer = await client.send(endpoint.method, withQuery(path, query), body, {
        ...(type && { 'content-type': type }),
        ...mapValues(request.headers, (value) => filled(value, mine)),
      })
      const created = CREATED[endpoint.name]
      if (answer.status === 201 && created && request.ids !== 'foreign') mine[created] = answer.body.data.id
      return answer
    },
  }
}

async function createCallers({ admin, agent }: Organization): Promise<Record<Caller, Client>> {
  const revoked = await createProgram(admin, ['*:write'])
  await admin.delete(`/api-keys/${revoked.id}`)
  return {
    admin,
    agent,
    program: await createProgram(admin, ['*:write']),
    'ticket program': await createProgram(admin, ['tickets:write', 'contacts:read']),
    'revoked program': revoked,
    stranger: stranger(),
  }
}

const REQUESTS_PER_WORLD = 250

/** Stands for the cursor of the second page. */
const NEXT_CURSOR = '{next_cursor}'

/** The query with the cursor of the second page instead of a number; without one when there is no such page. */
async function withNextCursor(
  client: Client,
  path: string,
  { cursor: _c, page: _p, ...query }: Record<string, string>,
) {
  const { body } = await client.get(withQuery(path, { ...query, per_page: '1' }))
  const cursor: string | undefined = body?.meta?.next_cursor ?? undefined
  return cursor ? { ...query, cursor } : query
}

function withQuery(path: string, query: Record<string, string>): string {
  return withParameters(path, new URLSearchParams(query).toString())
}

/** A new row takes the place of the one that may be deleted by now. */
const CREATED: Record<string, WorldId> = {
  'POST /tickets': 'ticket_id',
  'POST /tickets/{ticket_id}/messages': 'message_id',
  'POST /tickets/{ticket_id}/participants': 'participant_id',
  'POST /attachments': 'upload_id',
  'POST /contacts': 'contact_id',
  'POST /companies': 'company_id',
  'POST /labels': 'label_id',
  'POST /tickets/{ticket_id}/time-entries': 'time_entry_id',
  'POST /webhooks': 'webhook_id',
  'POST /users': 'user_id',
  'POST /mailboxes': 'mailbox_id',
  'POST /inbound-messages': 'inbound_message_id',
  'POST /api-keys': 'api_key_id',
}

/** Only this host is reached over the network: generated names are looked up nowhere. */
const HOSTS: Record<string, string[]> = {
  host: ['127.0.0.1', '', ' ', 'x'.repeat(256)],
  url: ['https://127.0.0.1:1/a', 'http://127.0.0.1/', 'https://u:p@127.0.0.1/', 'https://', 'ftp://127.0.0.1/', ''],
}

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 250, maxLength: 300, size: 'max' }) },
  { weight: 1, arbitrary: fc.constantFrom("' or 1=1 --", '<b>x</b>', '\u0000', '\ud800', 'NaN', '  ', 'a@b.example') },
)

function requestTo(endpoint: Endpoint): fc.Arbitrary<GeneratedRequest> {
  const { properties = {} } = endpoint.body ?? {}
  return fc.record({
    endpoint: fc.constant(endpoint),
    caller: fc.oneof(
      { weight: 8, arbitrary: fc.constant<Caller>('admin') },
      { weight: 4, arbitrary: fc.constant<Caller>('program') },
      { weight: 1, arbitrary: fc.constantFrom<Caller>('agent', 'stranger', 'ticket program', 'revoked program') },
    ),
    ids: rarely<string>('own', fc.oneof(fc.constant('foreign'), text), 9),
    query: fc.record(mapValues(endpoint.query, parameter), { requiredKeys: requiredQuery(endpoint) }),
    fields: fc.record(mapValues(properties, field)),
    raw: rarely(undefined, fc.record({ text, type: fc.constantFrom('application/json', 'text/plain', '') }), 20),
    headers: rarely<Record<string, string>>({}, fc.oneof(...HEADERS), 8),
  })
}

const HEADERS: fc.Arbitrary<Record<string, string>>[] = [
  fc.record({ 'x-organization-id': fc.constantFrom('x', '018f0000-0000-7000-8000-000000000000') }),
  fc.record({ 'if-none-match': fc.constantFrom('*', '"x"', 'x') }),
  fc.record({ 'if-match': fc.constantFrom('*', '"x"', 'x') }),
  fc.record({ 'idempotency-key': fc.constantFrom('a', 'b', 'x'.repeat(256), ' ') }),
]

function rarely<T>(usual: T, other: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })
}

/** An import without a mailbox says nothing more than that. */
function requiredQuery({ name }: Endpoint): string[] {
  return name === 'POST /inbound-messages' ? ['mailbox_id'] : []
}

function parameter(schema: Schema, name: string): fc.Arbitrary<string> {
  if (name === 'cursor') return rarely(NEXT_CURSOR, text, 8)
  const known = /_ids?$/.test(name) ? [{ weight: 4, arbitrary: fc.constant(`{${referenced(name)}}`) }] : []
  const fitting = fittingValue(schema, name).map((value) => (typeof value === 'string' ? value : String(value)))
  return fc.oneof(...known, { weight: 4, arbitrary: fitting }, { weight: 1, arbitrary: text })
}

function field(schema: Schema, name: string): fc.Arbitrary<Field> {
  const junk = HOSTS[name] ? fc.constantFrom(...HOSTS[name]) : fc.oneof(text, fc.jsonValue({ maxDepth: 3 }))
  return fc.oneof(
    { weight: 10, arbitrary: fc.constant<Field>('good') },
    { weight: 3, arbitrary: fc.constant<Field>('absent') },
    { weight: 3, arbitrary: fittingValue(schema, name).map((value) => ({ json: JSON.stringify(value) })) },
    { weight: 1, arbitrary: junk.map((value) => ({ json: JSON.stringify(value) })) },
  )
}

/** A value that the schema describes, though not all rules of the field. */
function fittingValue(schema: Schema, name: string): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const types = typesOf(schema).map((type) => valueOfType(type, schema, name))
  return types.length > 0 ? fc.oneof(...types) : fc.jsonValue()
}

function valueOfType(type: string, schema: Schema, name: string): fc.Arbitrary<unknown> {
  const { minimum: min = -1000, maximum: max = 1_000_000 } = schema
  if (type === 'null') return fc.constant(null)
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.integer({ min, max })
  if (type === 'number') return fc.oneof(fc.integer({ min, max }), fc.double({ min, max, noNaN: true }))
  if (type === 'array') return fc.array(fittingValue(schema.items ?? {}, name), { maxLength: 4 })
  if (type === 'object') return fc.record(mapValues(schema.properties ?? {}, fittingValue))
  if (HOSTS[name]) return fc.constantFrom(...HOSTS[name])
  if (/_ids?$/.test(name)) return fc.oneof(fc.constant(`{${referenced(name)}}`), fc.uuid())
  const days = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  if (schema.format === 'date') return days.map((day) => day.toISOString().slice(0, 10))
  if (schema.format === 'date-time') return days.map((day) => day.toISOString())
  return fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength: 40 })
}

function referenced(name: string): string {
  const others: Record<string, string> = { assignee_id: 'user_id', attachment_ids: 'upload_id' }
  return others[name] ?? name.replace(/s$/, '')
}

function contentOf(
  { endpoint, fields, raw }: GeneratedRequest,
  world: World,
): { body?: string | FormData; type?: string } {
  if (raw && endpoint.method !== 'GET') return { body: raw.text, type: raw.type || 'application/json' }
  const other = goodRaw(endpoint.name)
  if (other) return other
  if (!endpoint.body) return {}
  const good = goodBody(endpoint.name, world)
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    if (value === 'absent') return []
    return [`${JSON.stringify(name)}:${value === 'good' ? JSON.stringify(good[name]) : filled(value.json, world)}`]
  })
  return { body: `{${parts}}` }
}

/** Ids in place of their names. */
function filled(value: string, world: World): string {
  return value.replace(/{(\w+_id)}/g, (whole, name) => world[name as WorldId] ?? whole)
}

function junkIds({ ids }: Endpoint, value: string): Record<string, string> {
  // An empty part or one of dots is another path.
  const junk = /^\.*$/.test(value) ? 'x' : value.toWellFormed()
  return Object.fromEntries(ids.map((name) => [name, junk]))
}

function mapValues<T, U>(record: Record<string, T>, change: (value: T, key: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))
}
