/** Turns the filter of a saved view into the words of the search field, and back. */
import type { Contact } from '../../../desk/contacts/model'
import { type Api, query } from '../api'
import { t } from '../words/catalogue'
import { type Asked, type Choices, readSearch } from './search-words'

type Filter = Record<string, string>

/** The words of a search that name nobody. */
const NOBODY = '00000000-0000-7000-8000-000000000000'
/** A parameter of the list that has no word. */
const PARAMETER = /^([a-z_]+|custom\.\S+?)\s*=\s*(.*)$/

/** The ids of the contact and the company that a search names: the first that is found. */
export async function lookUp(api: Api, { from, company }: Asked, signal?: AbortSignal): Promise<Filter> {
  const first = async (path: string, words: string | undefined) => {
    if (words === undefined) return ''
    const address = `${path}${query({ search: words, per_page: 1 })}`
    return (await api.get<Pick<Contact, 'id'>[]>(address, signal && { signal })).data[0]?.id ?? NOBODY
  }
  const [contact_id, company_id] = await Promise.all([first('/contacts', from), first('/companies', company)])
  return { ...(contact_id && { contact_id }), ...(company_id && { company_id }) }
}

/**
 * Reads a filter from lines: words of a search, or parameters such as `external_id=7`.
 * @throws the words for the person when one names nothing
 */
export async function filterOf(api: Api, lines: string[], names: Choices): Promise<Filter> {
  const parameters = lines.flatMap((line) => {
    const [, name, value] = PARAMETER.exec(line.trim()) ?? []
    return name ? [[name, value!] as const] : []
  })
  const words = lines.filter((line) => !PARAMETER.test(line.trim())).join(' ')
  const asked = readSearch(words, names)
  const people = await lookUp(api, asked)
  const nobody = [people.contact_id === NOBODY && asked.from, people.company_id === NOBODY && asked.company]
  const unknown = [...asked.unknown, ...nobody.filter(Boolean)]
  if (unknown.length > 0) throw t('inbox.unknown', { words: unknown.join(' ') })
  return { ...Object.fromEntries(parameters), ...asked.filter, ...people }
}

/** The filter as lines for `filterOf`. @param named what ids of contacts and companies stand for */
export function linesOf(
  filter: Filter,
  { labels, users, mailboxes, teams }: Choices,
  named: Record<string, string>,
): string[] {
  const nameOf = (all: { id: string; name: string }[], id: string) => all.find((one) => one.id === id)?.name
  return Object.entries(filter).flatMap(([name, value]) => {
    const word = (as: string, said: string | undefined) => (said ? [`${as}:${quoted(said)}`] : [`${name}=${value}`])
    if (['status', 'priority', 'rating', 'sla'].includes(name)) return word(name, value)
    if (name === 'assignee_id') return word('assignee', /^(me|none)$/.test(value) ? value : nameOf(users, value))
    if (name === 'mailbox_id') return word('mailbox', mailboxes.find(({ id }) => id === value)?.address)
    if (name === 'team_id') return word('team', value === 'none' ? value : nameOf(teams, value))
    if (name === 'contact_id') return word('from', named[value])
    if (name === 'company_id') return word('company', named[value])
    if (name === 'search' && !/[:=]/.test(value)) return [value]
    const ids = value.split(',')
    const is_known = name === 'label_ids' && ids.every((id) => nameOf(labels, id))
    return is_known ? ids.map((id) => `label:${quoted(nameOf(labels, id)!)}`) : [`${name}=${value}`]
  })
}

function quoted(text: string): string {
  return /\s/.test(text) ? `"${text}"` : text
}
