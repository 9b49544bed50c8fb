/**
 * Tells streams of changes of presence and of drafts. Nothing of it is kept: a stream says that notices come from now
 * on, and a client that missed some reads again what it shows. All processes hear of it by one NOTIFY a second,
 * outside transactions (`outbox/wake.ts` says why). Behind a pooler nothing is heard, and nothing is promised.
 */
import { noticesClient, shortConnection } from '../../base/db/pool'
import { log, safeError } from '../../base/log'
import { afterCommit, type Scope } from '../../base/scope'
import { permits, requireAuthor } from '../../http/request/permissions'

/** `only`: the person whose it is, when nobody else is told. `by`: the person or API key who did it. */
type Notice = { kind: 'viewing' | 'draft'; ticket_id: string; by: string; only?: string }

/** A stream that wants notices. */
type Reader = {
  /** With the rights of now. */
  scope: () => Scope
  resource_ids?: string[] | undefined
  tell: (text: Uint8Array) => void
}

type Told = Notice & { organization_id: string }

const CHANNEL = 'deskwire_notices'
const EVERY_MS = 1000
/** The most in one NOTIFY: a payload has less than 8000 bytes, and a notice 230. */
const PART = 30
const PROMISE = encode('notices', {})

const readers = new Set<Reader>()
const waiting = new Map<string, Told>()
/** The client that listens, and whether it does already. */
let listening: { client: ReturnType<typeof noticesClient>; is_heard: boolean } | undefined

/** Tells it after the commit, together with what else happens in that second. @throws FORBIDDEN as `requireAuthor` */
export function notice(scope: Scope, told: Omit<Notice, 'by'>): void {
  const one = { organization_id: scope.organization_id, ...told, by: requireAuthor(scope).id }
  afterCommit(scope, () => {
    if (waiting.size === 0) setTimeout(send, EVERY_MS)
    waiting.set(JSON.stringify(one), one)
  })
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
    ?.listen(CHANNEL, (payload) => tellAll(JSON.parse(payload)), promise)
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

function tellAll(all: Told[]): void {
  for (const { scope, resource_ids, tell } of readers) {
    for (const { organization_id, kind, ticket_id, by, only } of all) {
      const { organization_id: own, actor } = scope()
      if (organization_id !== own || (only && only !== actor.id)) continue
      if (!permits(scope(), kind === 'viewing' ? 'member' : 'drafts:read')) continue
      if (!resource_ids || resource_ids.includes(ticket_id)) tell(encode(kind, { ticket: { id: ticket_id }, by }))
    }
  }
}

/** Without an id: it has no place in the feed. */
function encode(event: string, data: object): Uint8Array {
  return new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
