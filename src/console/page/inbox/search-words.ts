/**
 * Reads a search with its filters as words, such as `from:carla label:"to do" before:2026-01-31 printer`. What is no
 * filter is searched for in subjects and messages.
 */
import type { Label } from '../../../desk/labels/model'
import type { Team } from '../../../desk/teams/model'
import type { Mailbox } from '../../../mail/mailboxes/model'
import type { User } from '../../../people/users/model'

/** Names that a search may have. */
export type Choices = { labels: Label[]; users: User[]; mailboxes: Mailbox[]; teams: Team[] }

/** A filter word as it was typed; `-` before it is no part of the language. */
type Term = { name: string; value: string }

/** The wishes of a search: filters of the ticket list, and names of people and companies that have to be looked up. */
export type Asked = {
  filter: Record<string, string>
  /** Part of the name or address of the contact. */
  from?: string
  /** Part of the name of the company. */
  company?: string
  /** Filters that name nothing, as they were typed. */
  unknown: string[]
}

/** Names of filters, as the field offers them. */
export const FILTER_NAMES = [
  'from',
  'company',
  'label',
  'assignee',
  'mailbox',
  'team',
  'status',
  'priority',
  'rating',
  'sla',
  'before',
  'after',
] as const

const STATUSES = ['open', 'pending', 'resolved', 'closed']
const PRIORITIES = ['low', 'normal', 'high', 'urgent']
/** Filters of one word, by the parameter of the list. */
const WORDS: Record<string, string[]> = { rating: ['good', 'bad'], sla: ['breached', 'due_soon'] }
const DAY_MS = 86_400_000
const TERM =
  /(?<=^|\s)(from|company|label|assignee|mailbox|team|status|is|priority|rating|sla|before|after):("[^"]*"?|last (?:week|month|year)|\S+)/gi

/** Reads what was typed. @param now_ms from when relative days count */
export function readSearch(text: string, names: Choices, now_ms = Date.now()): Asked {
  const terms: Term[] = []
  const words = text.replace(TERM, (_, name: string, value: string) => {
    terms.push({ name: name.toLowerCase(), value: value.replaceAll('"', '').trim() })
    return ''
  })
  const asked: Asked = { filter: {}, unknown: [] }
  const search = words.replace(/\s+/g, ' ').trim()
  if (search) asked.filter.search = search
  const labels: string[] = []
  for (const { name, value } of terms) {
    const found = readTerm(name, value, names, now_ms)
    if (!found) asked.unknown.push(`${name}:${value}`)
    else if (name === 'from' || name === 'company') asked[name] = value
    else if (name === 'label') labels.push(found[1])
    else asked.filter[found[0]] = found[1]
  }
  if (labels.length > 0) asked.filter.label_ids = labels.join()
  return asked
}

/** @returns the parameter of the list and its value; undefined when the value names nothing */
function readTerm(name: string, value: string, names: Choices, now_ms: number): [string, string] | undefined {
  const low = value.toLowerCase()
  const found = (parameter: string, given: string | undefined) => given && ([parameter, given] as [string, string])
  if (!value) return undefined
  if (name === 'from' || name === 'company') return [name, value]
  if (name === 'label') return found('label_ids', begins(names.labels, low)) || undefined
  if (name === 'mailbox') return found('mailbox_id', begins(callNames(names.mailboxes), low)) || undefined
  const several = (all: string[]) => (low.split(',').every((one) => all.includes(one)) ? low : undefined)
  if (name === 'priority') return found('priority', several(PRIORITIES)) || undefined
  if (name === 'status' || name === 'is') return found('status', several(STATUSES)) || undefined
  if (WORDS[name]) return WORDS[name].includes(low) ? [name, low] : undefined
  if (name === 'assignee') {
    return found('assignee_id', low === 'me' || low === 'none' ? low : begins(names.users, low)) || undefined
  }
  if (name === 'team') return found('team_id', low === 'none' ? low : begins(names.teams, low)) || undefined
  return found(name === 'before' ? 'created_before' : 'created_after', dayOf(low, now_ms)) || undefined
}

/** Mailboxes by address, and by name. */
function callNames(mailboxes: Mailbox[]): { id: string; name: string }[] {
  return mailboxes.flatMap(({ id, address, name }) =>
    [address, name].flatMap((one) => (one ? [{ id, name: one }] : [])),
  )
}

/** The id of what has the name, or else of the first whose name begins so. */
function begins(all: { id: string; name: string }[], low: string): string | undefined {
  const named = (test: (name: string) => boolean) => all.find(({ name }) => test(name.toLowerCase()))?.id
  return named((name) => name === low) ?? named((name) => name.startsWith(low))
}

/** The start of a day, as a time: `2026-01-31`, `today`, `yesterday`, `3d`, `2w`, `last week`. */
function dayOf(low: string, now_ms: number): string | undefined {
  const today = new Date(now_ms)
  today.setHours(0, 0, 0, 0)
  const back = (days: number) => new Date(today.getTime() - days * DAY_MS).toISOString()
  const [, count, unit] = /^(\d{1,4})([dwmy])$/.exec(low) ?? []
  if (count) return back(Number(count) * { d: 1, w: 7, m: 30, y: 365 }[unit as 'd'])
  const days = { today: 0, yesterday: 1, 'last week': 7, week: 7, 'last month': 30, month: 30, 'last year': 365 }[low]
  if (days !== undefined) return back(days)
  const date = /^\d{4}-\d{2}-\d{2}$/.test(low) ? new Date(`${low}T00:00:00`) : undefined
  return date && !Number.isNaN(date.getTime()) ? date.toISOString() : undefined
}
