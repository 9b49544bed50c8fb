/** Any sequence of merges, undoings, splits, mail, answers, deletions and erasures keeps every message, once. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../src/base/db/columns'
import type { Answer } from '../../support/api'
import { type Desk, NO_SERVER, type StartedDesk, smtpTo, startDesk } from '../../support/desk'
import { uploadFile } from '../../support/factories'
import { importMail, rawMail } from '../../support/mail'
import { expectTurns } from '../../support/turns'

/** Sequences that are tried: more of them with `MERGE_RUNS`. */
const RUNS = Number(process.env.MERGE_RUNS ?? 5)

let desk: StartedDesk

beforeAll(async () => {
  desk = await startDesk({ smtp: smtpTo(NO_SERVER) })
})
afterAll(() => desk.stop())

const KINDS = [
  'merge',
  'merge',
  'unmerge',
  'unmerge',
  'split',
  'mail',
  'answer',
  'note',
  'file',
  'delete',
  'delete ticket',
  'erase',
] as const

/** `a` and `b` choose among what is there. */
const step = fc.record({ kind: fc.constantFrom(...KINDS), a: fc.nat(), b: fc.nat() })
type Step = { kind: (typeof KINDS)[number]; a: number; b: number }

type Message = { id: string; body: string; writer: string | null; written_on: string; issued: string | null }
type Ticket = { id: string; contact: { id: string; email: string } | null; merged_into: { id: string } | null }

/** The expected state of an organization, beside its own answers. */
class Model {
  readonly messages = new Map<string, Message>()

  constructor(
    readonly own: Desk,
    readonly people: string[],
  ) {}

  async tickets(): Promise<Ticket[]> {
    return (await this.own.agent.get('/tickets?per_page=100&sort=created_at')).body.data
  }

  /** @returns undefined for a step that is refused */
  async act(path: string, body?: unknown) {
    const answer = await this.own.admin.post(path, body)
    if (answer.status >= 500) throw new Error(`${path} answered ${answer.status} ${answer.text}`)
    return answer.status < 300 ? answer.body.data : undefined
  }

  async mail(from: string, anchor: string | null) {
    const body = `Words ${newId()}`
    const fields = { From: from, To: this.own.address, Subject: 'Printer', Message_ID: `<${newId()}@mail.example>` }
    const raw = rawMail({ ...fields, ...(anchor && { In_Reply_To: `<${anchor}>` }) }, body)
    const row = await importMail(this.own.admin, this.own.mailbox_id, raw)
    this.messages.set(row.message_id, {
      id: row.message_id,
      body,
      writer: from,
      written_on: row.ticket_id,
      issued: null,
    })
    return row
  }

  async step({ kind, a, b }: Step): Promise<void> {
    const tickets = await this.tickets()
    const [one, two] = [tickets[a % tickets.length], tickets[b % tickets.length]]
    const messages = [...this.messages.values()]
    const message = messages[a % messages.length]
    if (kind === 'mail' || !one || !two) {
      const anchors = [null, ...messages.flatMap(({ issued }) => issued ?? [])]
      await this.mail(this.people[a % this.people.length]!, anchors[b % anchors.length]!)
    } else if (kind === 'merge') await this.act(`/tickets/${one.id}/merge`, { source_ids: [two.id] })
    else if (kind === 'unmerge') {
      const merged = tickets.filter(({ merged_into }) => merged_into)
      if (merged.length > 0) await this.act(`/tickets/${merged[a % merged.length]!.id}/unmerge`)
    } else if (kind === 'answer' || kind === 'note' || kind === 'file') {
      const body = `Answer ${newId()}`
      const files = kind === 'file' ? { attachment_ids: [(await uploadFile(this.own.admin)).id] } : {}
      const made = await this.act(`/tickets/${one.id}/messages`, { body, is_internal: kind === 'note', ...files })
      const { id, email_message_id: issued } = made ?? {}
      if (made) this.messages.set(id, { id, body, writer: null, written_on: one.id, issued })
    } else if (kind === 'delete ticket') await this.deleteTicket(one.id)
    else if (kind === 'erase') await this.erase(one, tickets)
    else if (message) await this.change(kind, message, b)
  }

  async change(kind: 'split' | 'delete', message: Message, b: number) {
    const { id } = (await this.places()).get(message.id)!
    if (kind === 'delete') {
      expect((await this.own.agent.delete(`/tickets/${id}/messages/${message.id}`)).status).toBe(204)
      this.messages.delete(message.id)
      return
    }
    const others = (await this.own.agent.get(`/tickets/${id}/messages`)).body.data.map((one: { id: string }) => one.id)
    const chosen = [...new Set([message.id, others[b % others.length]])]
    const made = await this.act(`/tickets/${id}/split`, { message_ids: chosen })
    for (const one of chosen) this.messages.get(one)!.written_on = made.id
  }

  async deleteTicket(id: string) {
    const gone = [...(await this.places())].filter(([, ticket]) => ticket.id === id)
    const { status } = await this.own.agent.delete(`/tickets/${id}`)
    if (status === 204) for (const [message_id] of gone) this.messages.delete(message_id)
  }

  async erase({ contact }: Ticket, tickets: Ticket[]) {
    if (!contact) return
    const own = new Set(tickets.filter((ticket) => ticket.contact?.id === contact.id).map(({ id }) => id))
    await this.act(`/contacts/${contact.id}/erase`)
    for (const message of this.messages.values()) {
      if (!own.has(message.written_on) && message.writer !== contact.email) continue
      Object.assign(message, { body: '[erased]', writer: null })
    }
  }

  /** The ticket of each message that is shown. */
  async places(): Promise<Map<string, { id: string; body: string }>> {
    const places = new Map<string, { id: string; body: string }>()
    for (let cursor: string | null = ''; cursor !== null; ) {
      const answer: Answer = await this.own.agent.get(`/messages?per_page=100${cursor && `&cursor=${cursor}`}`)
      const { data, meta } = answer.body
      for (const { id, body, ticket } of data) {
        expect(places.has(id)).toBe(false)
        places.set(id, { id: ticket.id, body: body.trim() })
      }
      cursor = meta.next_cursor
    }
    return places
  }

  /** Nothing is lost, nothing is there twice, and nothing is on a merged ticket. */
  async check(): Promise<void> {
    const places = await this.places()
    const shown = [...places].map(([id, { body }]) => [id, body]).toSorted()
    expect(shown).toEqual([...this.messages.values()].map(({ id, body }) => [id, body]).toSorted())
    const living = new Map((await this.tickets()).map((ticket) => [ticket.id, ticket]))
    for (const { id } of places.values()) expect(living.get(id)?.merged_into).toBe(null)
    for (const { merged_into } of living.values()) {
      if (merged_into) expect(living.get(merged_into.id)?.merged_into).toBe(null)
    }
    await expectTurns(this.own.scope)
  }

  /** Every anchor of ours leads to the ticket where its message is, for whoever holds it. */
  async checkAnchors(): Promise<void> {
    const places = await this.places()
    for (const { id, issued } of this.messages.values()) {
      if (!issued) continue
      const raw = rawMail({ From: 'x@y.example', To: this.own.address, In_Reply_To: `<${issued}>` })
      const path = `/inbound-messages?mailbox_id=${this.own.mailbox_id}&dry_run=true`
      const { body } = await this.own.admin.send('POST', path, raw, { 'content-type': 'message/rfc822' })
      expect(body.data).toMatchObject({ outcome: 'message', ticket_id: places.get(id)!.id })
    }
  }

  /** A merge and its undoing leave everything as it was. */
  async checkIdentity(): Promise<void> {
    const living = (await this.tickets()).filter(({ merged_into }) => !merged_into)
    const [target, source] = living
    if (!target || !source) return
    const before = await this.state()
    expect(await this.act(`/tickets/${target.id}/merge`, { source_ids: [source.id] })).toBeDefined()
    await this.check()
    expect(await this.act(`/tickets/${source.id}/unmerge`)).toBeDefined()
    expect(await this.state()).toEqual(before)
  }

  async state() {
    const state = []
    for (const { id } of await this.tickets()) {
      const { updated_at: _, ...ticket } = (await this.own.agent.get(`/tickets/${id}`)).body.data
      const people = (await this.own.agent.get(`/tickets/${id}/participants?per_page=100`)).body.data
      state.push(
        JSON.parse(JSON.stringify({ ...ticket, people }).replaceAll(/&(amp;)?(expires|signature)=[^"&]*/g, '')),
      )
    }
    return state
  }
}

test('no message is lost or doubled, anchors lead to where their message is, and merge then unmerge is the identity', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 18 }), async (steps) => {
    const own = await desk.createDesk({ smtp: smtpTo(NO_SERVER) })
    const model = new Model(own, ['ann@customer.example', 'bob@customer.example', 'cat@other.example'])
    for (const person of model.people) await model.mail(person, null)
    for (const one of steps) {
      await model.step(one)
      await model.check()
    }
    await model.checkAnchors()
    await model.checkIdentity()
  })
  await fc.assert(property, { numRuns: RUNS })
})
