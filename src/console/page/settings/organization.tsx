/** The settings of the organization. */
import { useState } from 'preact/hooks'
import type { Organization } from '../../../people/organizations/model'
import type { Api } from '../api'
import { EditForm } from '../forms/edit-form'
import { Copyable } from '../forms/secret'
import type { Body, Spec } from '../forms/spec'
import { useLive } from '../live'
import { readMe } from '../sign-in'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const SELDOM_MS = 300_000

/** Reads the organization's settings, and again on demand. */
export function useOrganization(api: Api) {
  return useLive<{ organization: Organization; etag: string | null }>(
    `organization ${api.organization_id}`,
    async (_before, signal) => {
      const { data, etag } = await api.get<Organization>('/organization', { signal })
      return { organization: data, etag }
    },
    SELDOM_MS,
  )
}

export function OrganizationSettings({ api }: View) {
  const live = useOrganization(api)
  const [saved, setSaved] = useState(0)
  if (!live.value) return <Waiting error={live.error} />
  const { organization, etag } = live.value
  const save = async (_body: Body, changes: Body) => {
    await api.patch('/organization', changes, etag ? { 'if-match': etag } : undefined)
    tell(t('organization.saved'))
    await Promise.all([live.reload(), readMe()])
    setSaved(saved + 1)
  }
  return (
    <div class="card narrow">
      <p class="hint">
        {t('organization.id')} <Copyable text={organization.id} label={t('organization.id')} />
      </p>
      <EditForm key={saved} specs={specs(organization)} value={organization} submit={t('act.save')} send={save} />
    </div>
  )
}

/** The zones that the browser knows, and the one that is chosen. */
function zones(chosen: string): string[] {
  return [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), chosen])]
}

function specs({ time_zone }: Organization): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    {
      kind: 'text',
      name: 'ticket_prefix',
      label: t('field.ticket_prefix'),
      hint: t('organization.prefix_hint'),
      max: 10,
    },
    {
      kind: 'number',
      name: 'hourly_rate',
      label: t('field.hourly_rate'),
      hint: t('organization.rate_hint'),
      min: 0,
      step: 'any',
    },
    { kind: 'text', name: 'currency', label: t('field.currency'), hint: t('organization.currency_hint'), max: 3 },
    {
      kind: 'choice',
      name: 'time_zone',
      label: t('organization.zone'),
      hint: t('organization.zone_hint'),
      options: zones(time_zone).map((zone) => ({ value: zone, text: zone.replaceAll('_', ' ') })),
    },
    {
      kind: 'number',
      name: 'ask_rating_after_minutes',
      label: t('organization.ask_rating'),
      hint: t('organization.ask_rating_hint'),
      min: 0,
      max: 525_600,
    },
    { kind: 'check', name: 'reopen_on_reply', label: t('organization.reopen') },
    {
      kind: 'choice',
      name: 'spam_policy',
      label: t('organization.spam'),
      options: (['hold', 'mark'] as const).map((value) => ({ value, text: t(`organization.spam_${value}`) })),
    },
    {
      kind: 'choice',
      name: 'sender_policy',
      label: t('organization.sender'),
      options: (['flag', 'restrict'] as const).map((value) => ({ value, text: t(`organization.sender_${value}`) })),
    },
    { kind: 'lines', name: 'form_senders', label: t('organization.forms'), hint: t('organization.forms_hint') },
    { kind: 'lines', name: 'portal_origins', label: t('organization.origins'), hint: t('organization.origins_hint') },
  ]
}
