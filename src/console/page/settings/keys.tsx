/** API keys. A new one is shown once. */
import { useState } from 'preact/hooks'
import type { ApiKey, CreatedApiKey } from '../../../people/api-keys/model'
import { Filters, filterOf } from '../forms/filters'
import { SecretOnce } from '../forms/secret'
import type { Spec } from '../forms/spec'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Managed } from './managed'

/** Grants by what they are about. */
const GROUPS = {
  everything: ['*:read', '*:write'],
  tickets: ['tickets', 'messages', 'drafts', 'macros', 'views'].flatMap(both),
  customers: [...['contacts', 'companies'].flatMap(both), 'contact_tokens:write'],
  work: ['labels', 'time_entries'].flatMap(both),
  mail: ['mailboxes', 'inbound_messages'].flatMap(both),
  organization: [
    ...['organization', 'users', 'teams', 'schedules', 'sla_policies', 'webhooks'].flatMap(both),
    'audit_log:read',
    'retention:read',
  ],
}

/** A program that drafts reads what an answer takes, and sends nothing. */
const DRAFTING = [
  ...['tickets', 'messages', 'contacts', 'companies', 'labels', 'macros'].map((resource) => `${resource}:read`),
  'drafts:write',
]

function both(resource: string): string[] {
  return [`${resource}:read`, `${resource}:write`]
}

export function Keys(view: View) {
  const { api, route } = view
  const [made, setMade] = useState<CreatedApiKey>()
  const filters = filterSpecs()
  return (
    <>
      <Filters {...view} specs={filters} label={t('key.filter')} />
      <Managed<ApiKey>
        api={api}
        path="/api-keys"
        filter={filterOf(route.query, filters)}
        caption={t('settings.keys')}
        adding={t('key.add')}
        presets={[{ text: t('key.add_drafting'), start: { permissions: DRAFTING } }]}
        empty={t('key.none')}
        head={[t('field.name'), t('key.begins'), t('key.may'), t('key.used'), t('field.status')]}
        nameOf={({ name }) => name}
        cells={(one) => <Cells one={one} />}
        specs={(one) => (one?.revoked_at ? undefined : specs())}
        startOf={(one) => one ?? { permissions: ['*:read'] }}
        removal="revoke"
        deleteMeans={({ revoked_at }) => (revoked_at ? undefined : t('key.revoke_means'))}
        onMade={(key) => setMade(key as CreatedApiKey)}
      />
      {made && (
        <SecretOnce
          title={t('key.of', { name: made.name })}
          hint={t('form.shown_once')}
          secret={made.key}
          onClose={() => setMade(undefined)}
        />
      )}
    </>
  )
}

function specs(): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), hint: t('key.name_hint'), max: 255, required: true },
    {
      kind: 'many',
      name: 'permissions',
      label: t('key.may'),
      options: Object.entries(GROUPS).flatMap(([name, grants]) =>
        grants.map((value) => ({ value, text: value, group: t(`group.${name as keyof typeof GROUPS}`) })),
      ),
    },
    { kind: 'lines', name: 'allowed_networks', label: t('key.networks'), hint: t('key.networks_hint'), rows: 2 },
  ]
}

function filterSpecs(): Spec[] {
  return [
    {
      kind: 'choice',
      name: 'revoked',
      label: t('field.status'),
      options: [
        { value: '', text: t('mail.all') },
        { value: 'false', text: t('key.active') },
        { value: 'true', text: t('key.revoked') },
      ],
    },
  ]
}

function Cells({ one }: { one: ApiKey }) {
  const { name, prefix, permissions, allowed_networks, created_by, last_used_at, revoked_at } = one
  return (
    <>
      <td class="wide" dir="auto">
        {name}
        {created_by && <small>{t('key.made_by', { name: created_by.name })}</small>}
      </td>
      <td>
        <code>{prefix}</code>
      </td>
      <td class="wide">
        {permissions.join(', ')}
        {allowed_networks.length > 0 && <small>{t('key.from', { networks: allowed_networks.join(', ') })}</small>}
      </td>
      <td>{last_used_at ? <Time at={last_used_at} /> : t('key.never')}</td>
      <td>
        <Dot kind={revoked_at ? 'closed' : 'sent'}>{t(revoked_at ? 'key.revoked' : 'key.active')}</Dot>
      </td>
    </>
  )
}
