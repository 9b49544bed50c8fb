/** Lists the requests whose latency is measured, with the aim at a million tickets. */
import type { Subject } from './subjects'
import { WORDS } from './volume/zipf-text'

export type Read = {
  name: string
  path(subject: Subject): string
  /** The table whose rows the answer shows: the bare limit reads the same rows by their keys. */
  table: 'tickets' | 'contacts' | 'companies' | 'labels' | 'time_entries' | 'memberships'
  /** Milliseconds, the median of one client. */
  aim_ms?: number
  /** Milliseconds of the processor, of service and database together. */
  aim_cpu_ms?: number
}

const PER_PAGE = 20
const SEARCH_CPU_MS = 20

/** About 54 %, 10 %, 2 %, 0.2 % and 0.03 % of the tickets have these words. */
const [MOST, MANY, SOME, FEW, RARE] = ['you', 'error', WORDS[300]!, WORDS[3000]!, WORDS.at(-1)!] as const

function list(name: string, aim_ms: number, query: (subject: Subject) => string): Read {
  return { name: `GET /tickets, ${name}`, path: (subject) => `/tickets?${query(subject)}`, table: 'tickets', aim_ms }
}

function report(group_by: string, table: Read['table']): Read {
  const path = () => `/reports/tickets?from=2025-10-30&to=2026-10-30&group_by=${group_by}`
  return { name: `GET /reports/tickets by ${group_by}, 366 days`, path, table, aim_ms: 1000 }
}

function search(name: string, aim_ms: number, words: string | ((subject: Subject) => string), more = ''): Read {
  const text = (subject: Subject) => encodeURIComponent(typeof words === 'string' ? words : words(subject))
  return list(`search: ${name}`, aim_ms, (subject) => `search=${text(subject)}${more}`)
}

export const READS: Read[] = [
  { name: 'GET /tickets/:id', path: (s) => `/tickets/${s.ticket_id}`, table: 'tickets' },
  { name: 'GET /tickets', path: () => '/tickets', table: 'tickets' },
  { name: 'GET /labels', path: () => '/labels', table: 'labels', aim_ms: 15 },
  { name: 'GET /labels/:id, the most used', path: (s) => `/labels/${s.top_label}`, table: 'labels', aim_ms: 10 },
  {
    name: 'GET /companies/:id, the largest',
    path: (s) => `/companies/${s.top_company}`,
    table: 'companies',
    aim_ms: 15,
  },
  { name: 'GET /companies', path: () => '/companies', table: 'companies', aim_ms: 6 },
  { name: 'GET /contacts', path: () => '/contacts', table: 'contacts', aim_ms: 6 },
  list('the most used label', 20, (s) => `label_ids=${s.top_label}`),
  list('a rare label', 20, (s) => `label_ids=${s.rare_label}`),
  list('the most used label and open', 20, (s) => `label_ids=${s.top_label}&status=open`),
  list('the busiest assignee', 8, (s) => `assignee_id=${s.top_assignee}`),
  list('the busiest team', 20, (s) => `team_id=${s.top_team}`),
  list('the busiest team and open', 20, (s) => `team_id=${s.top_team}&status=open`),
  list('the largest company and open', 15, (s) => `company_id=${s.top_company}&status=open`),
  list('created in 2024', 15, () => 'created_after=2024-01-01T00:00:00Z&created_before=2025-01-01T00:00:00Z'),
  list('what is due first', 20, () => 'sort=due_at'),
  list('promises that are breached', 20, () => 'sla=breached'),
  list('a custom field of 25 %', 20, () => 'custom.tier=silver'),
  list('a custom field of 2 % and open', 20, () => 'custom.tier=gold&status=open'),
  list('two custom fields by last change', 20, () => 'custom.tier=silver&custom.is_renewed=true&sort=-updated_at'),
  list('a custom field of one ticket', 20, (s) => `custom.order_number=${Math.ceil(s.size / 200)}`),
  list('the page in the middle', 20, (s) => `page=${Math.floor(s.size / PER_PAGE / 2)}`),
  list('the last page', 20, (s) => `page=${Math.floor(s.size / PER_PAGE)}`),
  search('word in 54 %', 40, MOST),
  search('word in 10 %', 40, MANY),
  search('word in 2 %', 30, SOME),
  search('word in 0.2 %', 15, FEW),
  search('word in 0.03 %', 5, RARE),
  { ...search('two words', 40, 'error invoice'), aim_cpu_ms: SEARCH_CPU_MS },
  search('prefix of 3 letters', 40, 'pay'),
  search('prefix of 1 letter', 40, 's'),
  { ...search('phrase', 60, '"payment login"'), aim_cpu_ms: SEARCH_CPU_MS },
  search('word in 10 % and open', 60, MANY, '&status=open'),
  {
    ...search('word in 10 % and the most used label', 60, MANY),
    path: (s) => `/tickets?search=${MANY}&label_ids=${s.top_label}`,
    aim_cpu_ms: SEARCH_CPU_MS,
  },
  search('email address', 8, (s) => s.email),
  search('ticket code', 4, (s) => s.code),
  { name: 'GET /contacts, search of 2 letters', path: () => '/contacts?search=an', table: 'contacts', aim_ms: 30 },
  { name: 'GET /time-entries', path: () => '/time-entries', table: 'time_entries', aim_ms: 40 },
  {
    name: 'GET /time-entries, the largest company',
    path: (s) => `/time-entries?company_id=${s.top_company}`,
    table: 'time_entries',
    aim_ms: 20,
  },
  {
    name: 'GET /time-entries/summary by company, one year',
    path: () => '/time-entries/summary?group_by=company&date_from=2026-01-01&date_to=2026-12-31',
    table: 'companies',
    aim_ms: 120,
  },
  {
    name: 'GET /time-entries/summary by user, all',
    path: () => '/time-entries/summary?group_by=user',
    table: 'memberships',
    aim_ms: 120,
  },
  ...(['day', 'week', 'team', 'mailbox', 'label', 'priority'] as const).map((one) => report(one, 'labels')),
  report('user', 'memberships'),
  report('company', 'companies'),
]
