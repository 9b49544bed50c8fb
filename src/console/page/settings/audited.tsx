/** The audit log: who did what in the organization. */
import type { AuditLogEntry } from '../../../people/audit-log/model'
import { withTurnsShown } from '../direction'
import { Filters, filterOf } from '../forms/filters'
import type { Spec } from '../forms/spec'
import { useRows } from '../lists'
import { useNames } from '../names'
import { changed, hrefOf } from '../route'
import { Table } from '../rows'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { auditEnglish, auditedEnglish } from '../words/audit-english'
import { t } from '../words/catalogue'
import { programOf } from './session-list'

const KEYS = Object.keys(auditEnglish) as (keyof typeof auditEnglish)[]

export function AuditLog(view: View) {
  const { api, route } = view
  const users = useNames(api, 'users') ?? []
  const specs: Spec[] = [
    {
      kind: 'choice',
      name: 'actor_id',
      label: t('audit.who'),
      options: [{ value: '', text: t('time.everybody') }, ...users.map(({ id, name }) => ({ value: id, text: name }))],
    },
    {
      kind: 'choice',
      name: 'action',
      label: t('audit.what'),
      options: [
        { value: '', text: t('mail.all') },
        ...KEYS.map((key) => ({ value: key.replace('audit.', ''), text: t(key) })),
      ],
    },
    { kind: 'text', name: 'resource_id', label: t('audit.resource_id') },
    { kind: 'date', name: 'created_after', label: t('time.from') },
    { kind: 'date', name: 'created_before', label: t('time.to') },
  ]
  const list = useRows<AuditLogEntry>(api, '/audit-log', filterOf(route.query, specs))
  return (
    <>
      <Filters {...view} specs={specs} label={t('audit.filter')} />
      <Table
        list={list}
        caption={t('settings.audit')}
        head={[t('audit.when'), t('audit.who'), t('audit.what'), t('audit.changes'), t('audit.from')]}
        empty={t('audit.none')}
        row={({ created_at, actor, action, resource, changes, ip, user_agent, request_id }) => (
          <>
            <td>
              <Time at={created_at} />
            </td>
            <td dir="auto">{actor.name ?? wordsOf('actor', actor.type)}</td>
            <td>
              <span title={action}>{wordsOf('audit', action)}</span>
              {resource && (
                <small>
                  <a href={hrefOf(api.organization_id, route.path, changed(route.query, { resource_id: resource.id }))}>
                    {wordsOf('audited', resource.type)}
                  </a>
                </small>
              )}
            </td>
            <td class="wide">{changes && <Changes changes={changes} />}</td>
            <td title={request_id ?? undefined}>
              {ip}
              {user_agent && <small title={user_agent}>{programOf({ user_agent })}</small>}
            </td>
          </>
        )}
      />
    </>
  )
}

const WORDS = [...KEYS, ...(Object.keys(auditedEnglish) as (keyof typeof auditedEnglish)[])]

/** Says a word of the log in those of the page. The command of an operator, and a word of a later release, stay. */
function wordsOf(kind: 'audit' | 'audited' | 'actor', word: string): string {
  const key = WORDS.find((one) => one === `${kind}.${word}`)
  return key ? t(key) : word
}

/** Fields that were changed, from and to; other facts as they are. */
function Changes({ changes }: { changes: Record<string, unknown> }) {
  const words = Object.entries(changes).map(([name, value]) => {
    const { from, to } = (value ?? {}) as { from?: unknown; to?: unknown }
    const is_change = typeof value === 'object' && value !== null && ('from' in value || 'to' in value)
    return `${name}: ${is_change ? [from, to].filter(isGiven).map(written).join(' → ') : written(value)}`
  })
  return (
    <span class="excerpt" dir="auto" title={words.join('\n')}>
      {words.join(' · ')}
    </span>
  )
}

/** Longer values are cut: they stand where the thing is edited. */
const MOST_CHARACTERS = 160

function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined
}

function written(value: unknown): string {
  const text = withTurnsShown(plain(value))
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)} …` : text
}

/** A value without the signs of programs; a thing that is named is its name. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.length > 0 ? value.map(plain).join(', ') : '–'
  if (typeof value !== 'object' || value === null) return String(value)
  const facts = Object.entries(value).filter(([, fact]) => isGiven(fact))
  if ('id' in value && 'name' in value) return String(value.name)
  return facts.length > 0 ? facts.map(([name, fact]) => `${name} ${plain(fact)}`).join(', ') : '–'
}
