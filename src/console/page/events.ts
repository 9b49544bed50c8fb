/**
 * Follows the events of the organization that is shown while the page is seen. What the page shows is read again when
 * an event is about it. Without a stream it is read every few seconds (`live.ts`).
 */
import { Cell } from './cell'
import { readEvents } from './event-lines'
import { authorization, readMe, renew } from './sign-in'

/**
 * `ids`: of the resource, and of its ticket. A notice has none: it is about the presence or the drafts of a ticket
 * (`viewing`, `draft`), or says that some may have been missed (`notices`).
 */
export type Told = { type: string; ids: string[]; ticket_id?: string; by?: string }

/** Tells if events are followed while the page is not seen, too. */
export const follows_hidden = new Cell(false)

/** Tells if events come now. */
export const following = new Cell(false)

/** Tells if notices come with them. */
export const noticing = new Cell(false)

const TYPES = [
  ...['created', 'updated', 'deleted', 'assigned', 'status_changed', 'erased', 'merged', 'unmerged', 'split'].map(
    (what) => `ticket.${what}`,
  ),
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

/** Follows the events of an organization. @returns what ends it */
export function follow(organization_id: string): () => void {
  const stop = new AbortController()
  void followUntil(organization_id, stop.signal)
  return () => stop.abort()
}

/** Where a reader stands: the id of what came last, and when that was. */
type Place = { id: string | undefined; at_ms: number }

async function followUntil(organization_id: string, stop: AbortSignal): Promise<void> {
  const place: Place = { id: undefined, at_ms: 0 }
  for (let failures = 0; !stop.aborted; ) {
    await whenSeen()
    const begun_ms = performance.now()
    const code = await read(organization_id, place, stop)
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
async function read(organization_id: string, place: Place, stop: AbortSignal): Promise<string> {
  if (performance.now() - place.at_ms > AWAY_MS) place.id = undefined
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
    if (!place.id) tell(undefined)
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
  const { data, ticket, by } = JSON.parse(text) as {
    data?: { id?: string; ticket?: { id?: string } }
    ticket?: { id: string }
    by?: string
  }
  if (!data) return { type, ids: [], ticket_id: ticket?.id, by }
  return { type, ids: [data.id, data.ticket?.id].filter((id) => id !== undefined) }
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
