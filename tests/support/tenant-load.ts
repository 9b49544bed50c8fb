/** Requests and mail in many organizations at once, and the result of each, by organization. */
import postgres from 'postgres'
import { newId } from '../../src/base/db/columns'
import type { Service } from './service'
import { sendMail } from './smtp'

/** After this time without an answer a request hangs. */
const ANSWER_MOST_MS = 120_000
const PAUSE_MS = 100

export type Tenant = {
  id: string
  /** Name of the machine that has its rows. */
  machine: string
  mailbox: string
  contact_id: string
  ticket_id: string
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export type Answer = { status: number; body: any; headers: Headers }

/** One answer: to a request, or to a mail, whose status is that of its end of DATA or of its last refusal. */
export type Step = { tenant: Tenant; what: string; status: number; text: string; sent_ms: number; took_ms: number }

/**
 * Makes organizations, as many on each machine, of which the service's admin is a member.
 * @param hook where each of them has a webhook for new tickets
 */
export async function createTenants(
  service: Service,
  database_url: string,
  { each, hook }: { each: number; hook: string },
): Promise<Tenant[]> {
  const { body: me } = await service.call('GET', '/auth/me')
  const sql = postgres(database_url, { max: 1, onnotice: () => {} })
  const chosen = new Map<string, string[]>()
  try {
    const machines = await sql<{ name: string }[]>`
      select nodename || ':' || nodeport as name from pg_dist_node where shouldhaveshards and groupid > 0`
    for (const { name } of machines) chosen.set(name, [])
    while ([...chosen.values()].some((ids) => ids.length < each)) {
      const id = newId()
      const [place] = await sql<[{ name: string }]>`
        select n.nodename || ':' || n.nodeport as name from pg_dist_placement p join pg_dist_node n using (groupid)
        where p.shardid = get_shard_id_for_distribution_column('outbox', ${id}::uuid)`
      const ids = chosen.get(place.name)!
      if (ids.length < each) ids.push(id)
    }
    for (const id of [...chosen.values()].flat()) {
      await sql`insert into organizations (id, name) values (${id}, 'Acme')`
      await sql`insert into ticket_counters (organization_id) values (${id})`
      await sql`insert into memberships (organization_id, user_id, role) values (${id}, ${me.id}, 'admin')`
    }
  } finally {
    await sql.end()
  }
  const tenants: Tenant[] = []
  for (const [machine, ids] of chosen) for (const id of ids) tenants.push(await furnish(service, { id, machine, hook }))
  return tenants
}

async function furnish(service: Service, { id, machine, hook }: { id: string; machine: string; hook: string }) {
  const create = async (path: string, body: unknown) => {
    const answer = await ask(service, id, 'POST', path, body)
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body.data
  }
  const { address } = await create('/mailboxes', { address: `support@${id}.example` })
  const contact = await create('/contacts', { name: 'Carla', email: `carla@customer.example` })
  const ticket = await create('/tickets', { subject: 'The printer burns', contact_id: contact.id })
  await create('/webhooks', { url: `${hook}/${id}`, events: ['ticket.created'] })
  return { id, machine, mailbox: address, contact_id: contact.id, ticket_id: ticket.id }
}

/** A request of the admin in an organization. @throws when it is not answered */
export async function ask(
  service: Service,
  organization_id: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${service.token()}`,
      'x-organization-id': organization_id,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MOST_MS),
  })
  const text = await response.text()
  return { status: response.status, body: text ? JSON.parse(text) : undefined, headers: response.headers }
}

/** Sends a mail to mailboxes, whose subject is its own. */
export async function mailTo(service: Service, to: string | string[], subject: string) {
  const from = `${crypto.randomUUID()}@customer.example`
  const raw = `From: ${from}\r\nTo: ${[to].flat().join(', ')}\r\nSubject: ${subject}\r\nMessage-ID: <${from}>\r\n\r\nIt burns.\r\n`
  return { raw, from, ...(await sendMail({ port: service.smtp_port, from, to, raw })) }
}

export class TenantLoad {
  readonly steps: Step[] = []
  /** Subjects of the tickets that were answered 201, and of the mails that got 250, by organization. */
  readonly created = new Map<string, Set<string>>()
  readonly mailed = new Map<string, Set<string>>()
  readonly #service: Service
  readonly #paces: Promise<void>[]
  #is_over = false

  /** Starts the load: in each organization one step after the other, in turn. */
  constructor(service: Service, tenants: Tenant[]) {
    this.#service = service
    for (const { id } of tenants) {
      this.created.set(id, new Set())
      this.mailed.set(id, new Set())
    }
    this.#paces = tenants.map((tenant) => this.#pace(tenant))
  }

  /** The answers to what was sent since a time. */
  since(start_ms: number, what?: string): Step[] {
    return this.steps.filter((step) => step.sent_ms >= start_ms && (what === undefined || step.what === what))
  }

  /** Lets what is under way end, and sends nothing more. */
  async stop(): Promise<void> {
    this.#is_over = true
    await Promise.all(this.#paces)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #pace(tenant: Tenant): Promise<void> {
    const { id, contact_id, ticket_id } = tenant
    while (!this.#is_over) {
      const subject = `asked ${crypto.randomUUID()}`
      const note = { body: 'Burns still', is_internal: true }
      await this.#request(tenant, 'list', 'GET', '/tickets?per_page=5')
      const status = await this.#request(tenant, 'create', 'POST', '/tickets', { subject, contact_id })
      if (status === 201) this.created.get(id)!.add(subject)
      await this.#request(tenant, 'note', 'POST', `/tickets/${ticket_id}/messages`, note)
      await this.#request(tenant, 'search', 'GET', '/tickets?search=printer')
      await this.#mail(tenant)
    }
  }

  async #request(tenant: Tenant, what: string, method: string, path: string, body?: unknown): Promise<number> {
    let status = 0
    await this.#step(tenant, what, async () => {
      const answer = await ask(this.#service, tenant.id, method, path, body)
      status = answer.status
      return { status, text: status < 300 ? '' : JSON.stringify(answer.body) }
    })
    return status
  }

  #mail(tenant: Tenant): Promise<void> {
    const subject = `mailed ${crypto.randomUUID()}`
    return this.#step(tenant, 'mail', async () => {
      const { code, response } = await mailTo(this.#service, tenant.mailbox, subject)
      if (code === 250) this.mailed.get(tenant.id)!.add(subject)
      return { status: code, text: response }
    })
  }

  /** A step without an answer has the status 0. */
  async #step(tenant: Tenant, what: string, work: () => Promise<{ status: number; text: string }>): Promise<void> {
    const sent_ms = performance.now()
    const { status, text } = await work().catch((error) => ({ status: 0, text: String(error) }))
    this.steps.push({ tenant, what, status, text, sent_ms, took_ms: performance.now() - sent_ms })
    await Bun.sleep(PAUSE_MS)
  }
}
