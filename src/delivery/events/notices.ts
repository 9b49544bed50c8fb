/**
 * Tells streams of people who has a ticket open, and of changes of drafts and of read marks. Nothing of it is kept: a
 * stream says that notices come from now on, and a client that missed some reads again what it shows. All processes
 * hear of it by one NOTIFY a second, outside transactions (`outbox/wake.ts` says why). Behind a pooler nothing is
 * heard, and nothing is promised.
 */
import { noticesClient, shortConnection } from '../../base/db/pool'
import { log, safeError } from '../../base/log'
import { afterCommit, type Scope } from '../../base/scope'
import { requireAuthor } from '../../http/request/permissions'

/** `only`: the person whose it is, when nobody else is told. `by`: the person or API key who did it, null: time. */
type Notice = { kind: 'viewing' | 'draft' | 'read'; ticket_id: string; by: string | null; only?: string }

/** A stream that wants notices. */
type Reader = {
  /** With the rights of now. */
  scope: () => Scope
  tell: (text: Uint8Array) => void
}

type Told = Notice & { organization_id: string }

const CHANNEL = 'deskwire_notices'
const EVERY_MS = 1000
/** The most in one NOTIFY: a payload has less than 8000 bytes, and a notice 260. */
const PART = 29
const PROMISE = encode('notices', {})

const readers = new Set<Reader>()
const waiting = new Map<string, Told>()
/** The client that listens, and whether it does already. */
let listening: { client: ReturnType<typeof noticesClient>; is_heard: boolean } | undefined
let telling = Promise.resolve()
/** Reads what notices of a kind say besides the ticket. */
type Read = (scope: Scope, ticket_id: string) => Promise<object>
const readers_of: Partial<Record<Notice['kind'], Read>> = {}

/** Sets what notices of a kind say: those who know it do so. */
export function tellBy(kind: Notice['kind'], read: Read): void {
  readers_of[kind] = read
}

/** Tells it after the commit, together with what else happens in that second. @throws FORBIDDEN as `requireAuthor` */
export function notice(scope: Scope, told: Omit<Notice, 'by'>): void {
  const one = { organization_id: scope.organization_id, ...told, by: requireAuthor(scope).id }
  afterCommit(scope, () => add(one))
}

/** Tells what time alone has changed. */
export function noticeByTime(organization_id: string, told: Pick<Notice, 'kind' | 'ticket_id'>): void {
  add({ organization_id, ...told, by: null })
}

function add(one: Told): void {
  if (waiting.size === 0) setTimeout(send, EVERY_MS)
  waiting.set(JSON.stringify(one), one)
}

/** Lets a stream hear, which is told that notices come. @returns what ends it */
export function hear(reader: Reader): () => void {
  readers.add(reader)
  if (listening?.client !== noticesClient()) listen()
  else if (listening?.is_heard) reader.tell(PROMISE)
  return () => readers.delete(reader)
}

/** Some may have been missed whenever the connection was lost. */
function listen(): void {
  const client = noticesClient()
  const begun = { client, is_heard: false }
  listening = begun
  const promise = () => {
    begun.is_heard = true
    for (const reader of readers) reader.tell(PROMISE)
  }
  client
    ?.listen(CHANNEL, (payload) => inTurn(() => tellAll(JSON.parse(payload))), promise)
    .catch((error) => {
      listening = undefined
      log.warn({ error: safeError(error) }, 'LISTEN failed: streams have no notices')
    })
}

async function send(): Promise<void> {
  const all = [...waiting.values()]
  waiting.clear()
  try {
    for (let at = 0; at < all.length; at += PART) {
      await shortConnection().notify(CHANNEL, JSON.stringify(all.slice(at, at + PART)))
    }
  } catch (error) {
    log.debug({ error: safeError(error) }, 'NOTIFY failed')
  }
}

/** Does one after the other, so that what was read earlier is told earlier. */
function inTurn(work: () => Promise<void>): void {
  telling = telling.then(work)
}

async function tellAll(all: Told[]): Promise<void> {
  for (const [organization_id, some] of Map.groupBy(all, (one) => one.organization_id)) {
    const heard = [...readers].filter(({ scope }) => scope().organization_id === organization_id)
    if (heard.length > 0) await tellSome(heard, some)
  }
}

async function tellSome(heard: Reader[], some: Told[]): Promise<void> {
  const texts = await Promise.all(some.map((one) => noticeText(heard[0]!.scope(), one)))
  for (const [index, { only }] of some.entries()) {
    for (const { scope, tell } of heard) if (only === undefined || only === scope().actor.id) tell(texts[index]!)
  }
}

async function noticeText(scope: Scope, { kind, ticket_id, by }: Told): Promise<Uint8Array> {
  try {
    return encode(kind, { ticket: { id: ticket_id }, ...(await readers_of[kind]?.(scope, ticket_id)), by })
  } catch (error) {
    log.debug({ error: safeError(error) }, 'what a notice says was not read')
    return PROMISE
  }
}

/** Without an id: it has no place in the feed. */
function encode(event: string, data: object): Uint8Array {
  return new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
