/**
 * Follows the events of the organization that is shown while the page is seen. What the page shows is read again when
 * an event is about it. Without a stream it is read every few seconds (`live.ts`).
 */
import type { Viewer } from '../../desk/viewing/model'
import { Cell } from './cell'
import { readEvents } from './event-lines'
import { authorization, readMe, renew } from './sign-in'

/**
 * `ids`: of the resource, and of its ticket. A notice has none: it is about the presence or the drafts of a ticket
 * (`viewing`, `draft`), about the person's own read mark (`read`), or says that some may have been missed (`notices`).
 */
export type Told = {
  type: string
  ids: string[]
  ticket_id?: string
  by?: string | null
  /** The people who have the ticket open. */
  users?: Viewer[]
  /** How many drafts the ticket has. */
  draft_count?: number
  /** The resource as it is now, and what its type adds. Its type is that of the event. */
  // biome-ignore lint/suspicious/noExplicitAny: each event has its own
  data?: any
  /** An answer to this page, which an event follows, with the tag of the resource. */
  is_own?: boolean
  etag?: string | null | undefined
}

/** Tells if events are followed while the page is not seen, too. */
export const follows_hidden = new Cell(false)

/** Tells if events come now. */
export const following = new Cell(false)

/** Tells if notices come with them. */
export const noticing = new Cell(false)

const TYPES = [
  ...[
    'created',
    'updated',
    'deleted',
    'assigned',
    'status_changed',
    'erased',
    'merged',
    'unmerged',
    'split',
    'rated',
    'sla_due_soon',
    'sla_breached',
  ].map((what) => `ticket.${what}`),
  ...['created', 'deleted', 'email_sent', 'email_failed', 'email_bounced', 'erased'].map((what) => `message.${what}`),
  ...['contact', 'company', 'label'].flatMap((what) => [`${what}.created`, `${what}.updated`, `${what}.deleted`]),
  ...['time_entry.created', 'time_entry.updated', 'time_entry.deleted'],
]
const ADDRESS = `api/v1/events/stream?notices=true&types=${TYPES.join()}`
/** The service sends something every 15 s. */
const SILENT_MS = 40_000
/** Browsers open six connections for all tabs: one that is not seen gives its own back. */
const HIDDEN_MS = 2000
/** Changes of a longer time are not told event by event. */
const AWAY_MS = 300_000
const FIRST_PAUSE_MS = 500
const MOST_PAUSE_MS = 30_000

const listeners = new Set<(told: Told | undefined) => void>()

/** Listens for events; undefined when anything may have happened. @returns what ends it */
export function onEvent(listener: (told: Told | undefined) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function tell(told: Told | undefined): void {
  for (const listener of [...listeners]) listener(told)
}

type Named = { id: string; ticket?: { id: string }; unread?: boolean | null; step?: number }

/** Tickets that this page marked, and when: the notice of it comes some seconds later. */
const marked = new Map<string, number>()
const OWN_MARK_MS = 15_000

/** Tells all parts of the page what the service has answered to an act, as its event will. */
export function learn(type: string, data: Named, etag?: string | null): void {
  if (type === 'ticket.read') marked.set(data.id, performance.now())
  tell({ ...toldOf(type, data), is_own: true, etag })
}

/** Reading waits so long for the first events: whatever was read before them would be read again. */
const FIRST_MS = 500
let first = Promise.withResolvers<void>()

/** Resolves once events come, or when reading should not wait for them any more. */
export function whenFollowed(): Promise<void> {
  return first.promise
}

function readOn(): void {
  is_late = true
  first.resolve()
}

/** Follows the events of an organization. @returns what ends it */
export function follow(organization_id: string): () => void {
  const stop = new AbortController()
  const timer = setTimeout(readOn, FIRST_MS)
  place = { id: undefined, at_ms: 0 }
  is_late = false
  void followUntil(organization_id, stop.signal)
  return () => {
    stop.abort()
    clearTimeout(timer)
    readOn()
    first = Promise.withResolvers()
  }
}

/** Where a reader stands: the id of what came last, and when that was. */
type Place = { id: string | undefined; at_ms: number }

let place: Place = { id: undefined, at_ms: 0 }
/** Something may have been read before the first events came. */
let is_late = false

/** Tells if all that happened while the page was not seen is told event by event. */
export function isPlaceKept(): boolean {
  return place.id !== undefined && performance.now() - place.at_ms <= AWAY_MS
}

async function followUntil(organization_id: string, stop: AbortSignal): Promise<void> {
  for (let failures = 0; !stop.aborted; ) {
    await whenSeen()
    const begun_ms = performance.now()
    const code = await read(organization_id, stop)
    readOn()
    following.value = false
    noticing.value = false
    if (stop.aborted || code === 'HIDDEN') continue
    failures = place.at_ms > begun_ms && code !== 'FORBIDDEN' ? 0 : failures + 1
    if (code === 'CURSOR_EXPIRED') place.id = undefined
    if (code === 'TOKEN_EXPIRED' || code === 'INVALID_TOKEN') await renew()
    if (code === 'FORBIDDEN') await readMe()
    const pause_ms = Math.min(FIRST_PAUSE_MS * 2 ** failures, MOST_PAUSE_MS)
    await new Promise((resolve) => setTimeout(resolve, pause_ms * (0.5 + Math.random() / 2)))
  }
}

/** Reads one stream to its end. @returns why it ended: the code of the service, HIDDEN, or empty when it broke */
async function read(organization_id: string, stop: AbortSignal): Promise<string> {
  if (!isPlaceKept()) place.id = undefined
  const leave = new AbortController()
  let silence: ReturnType<typeof setTimeout> | undefined
  const hear = () => {
    place.at_ms = performance.now()
    clearTimeout(silence)
    silence = setTimeout(() => leave.abort(), SILENT_MS)
  }
  const end = whenHidden(() => leave.abort('HIDDEN'))
  silence = setTimeout(() => leave.abort(), SILENT_MS)
  let code = ''
  try {
    const headers = {
      ...authorization(),
      'x-organization-id': organization_id,
      ...(place.id && { 'last-event-id': place.id }),
    }
    const response = await fetch(ADDRESS, { headers, signal: AbortSignal.any([stop, leave.signal]) })
    if (!response.ok) return (await response.json()).error.code
    following.value = true
    if (!place.id && is_late) tell(undefined)
    readOn()
    await readEvents(response.body!, ({ id, event, data }) => {
      hear()
      if (id !== undefined) place.id = id
      if (event === 'end') code = JSON.parse(data).code
      else if (data) tell(toldBy(event, data))
      if (event === 'notices') noticing.value = true
    })
  } catch {
    if (leave.signal.reason === 'HIDDEN') code = 'HIDDEN'
  } finally {
    clearTimeout(silence)
    end()
  }
  return code
}

function toldBy(type: string, text: string): Told {
  const { data, ticket, by, ...said } = JSON.parse(text) as {
    data?: { id?: string; ticket?: { id?: string } }
    ticket?: { id: string }
    by?: string | null
    users?: Viewer[]
    draft_count?: number
  }
  if (data) return toldOf(type, data)
  const is_own = type === 'read' && performance.now() - (marked.get(ticket?.id ?? '') ?? -OWN_MARK_MS) < OWN_MARK_MS
  return { type, ids: [], ticket_id: ticket?.id, by, ...said, is_own }
}

function toldOf(type: string, data: { id?: string; ticket?: { id?: string } }): Told {
  return { type, ids: [data.id, data.ticket?.id].filter((id) => id !== undefined), data }
}

function whenSeen(): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden || follows_hidden.value) return resolve()
    const onChange = () => {
      if (document.hidden) return
      document.removeEventListener('visibilitychange', onChange)
      resolve()
    }
    document.addEventListener('visibilitychange', onChange)
  })
}

/** Runs something when the page is not seen for a while. @returns what ends it */
function whenHidden(run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const onChange = () => {
    clearTimeout(timer)
    if (document.hidden && !follows_hidden.value) timer = setTimeout(run, HIDDEN_MS)
  }
  document.addEventListener('visibilitychange', onChange)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onChange)
  }
}
