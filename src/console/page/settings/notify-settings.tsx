/** For which reasons the person gets mail about tickets of this organization. */
import type { Me } from '../../../people/auth/model'
import { EditForm } from '../forms/edit-form'
import type { Body } from '../forms/spec'
import { useLive } from '../live'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

type Notify = NonNullable<Me['notify']>

const REASONS = [
  'assigned',
  'reply_on_mine',
  'mentioned',
  'new_unassigned',
  'draft_kept',
] as const satisfies readonly (keyof Notify)[]
const SELDOM_MS = 300_000

export function NotifySettings({ api, me, organization }: View) {
  const live = useLive<Me>(`notify ${me.id} ${organization.id}`, () => api.own<Me>('GET', '/auth/me'), SELDOM_MS)
  if (!live.value) return <Waiting error={live.error} />
  const { notify } = live.value
  const send = async (body: Body) => {
    const wanted = Object.fromEntries(REASONS.map((reason) => [reason, body[reason] ? 'mail' : 'none']))
    live.put(await api.own<Me>('PATCH', '/auth/me', { notify: wanted }))
    tell(t('notify.saved'))
  }
  return (
    <div class="card narrow">
      <p class="hint">{t('notify.means')}</p>
      <EditForm
        specs={REASONS.map((name) => ({ kind: 'check', name, label: t(`notify.${name}`) }))}
        value={Object.fromEntries(REASONS.map((reason) => [reason, notify?.[reason] === 'mail']))}
        submit={t('act.save')}
        send={send}
      />
    </div>
  )
}
