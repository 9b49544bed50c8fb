/** Sends events of a webhook again, and shows how many of them are on their way still. */
import type { Replayed, Webhook } from '../../../delivery/webhooks/model'
import { type Api, query } from '../api'
import { EditForm } from '../forms/edit-form'
import { type Body, withoutEmpty } from '../forms/spec'
import { Dialog } from '../ui/dialogs'
import { tell } from '../ui/toasts'
import { t } from '../words/catalogue'
import { doLong } from '../work'

const LOOK_MS = 4000
/** Deliveries that none follows in so long wait for their next try. */
const STILL_MS = 20_000

type Props = { api: Api; hook: Webhook; reload: () => Promise<unknown>; onClose: () => void }

export function Replay({ api, hook, reload, onClose }: Props) {
  const path = `/webhooks/${hook.id}`
  const send = async (body: Body) => {
    await doLong(t('webhook.replaying'), async (tellFar) => {
      const before = await countWaiting(api, path)
      const { data } = await api.post<Replayed>(`${path}/replay`, withoutEmpty(body))
      tell(t('webhook.replayed', { count: data.queued }))
      await reload()
      const tellLeft = (left: number) => tellFar({ done: data.queued - left, total: data.queued })
      // Whoever removes the webhook meanwhile has nothing to wait for.
      await watch(api, path, before, tellLeft).catch(() => {})
      await reload()
    })
    onClose()
  }
  return (
    <Dialog title={t('webhook.replay')} onClose={onClose}>
      <p>{t('webhook.replay_means')}</p>
      <EditForm
        specs={[
          { kind: 'datetime-local', name: 'since', label: t('webhook.since'), required: true },
          { kind: 'datetime-local', name: 'until', label: t('webhook.until'), hint: t('webhook.until_hint') },
          {
            kind: 'choice',
            name: 'only',
            label: t('webhook.which'),
            options: (['failed', 'all'] as const).map((value) => ({ value, text: t(`webhook.replay_${value}`) })),
          },
        ]}
        submit={t('webhook.replay')}
        send={send}
        onCancel={onClose}
      />
    </Dialog>
  )
}

/** Looks until no more deliveries wait than before, or none has left for a while. */
async function watch(api: Api, path: string, before: number, tellLeft: (left: number) => void): Promise<void> {
  for (let [least, still_ms] = [Number.POSITIVE_INFINITY, 0]; still_ms < STILL_MS; still_ms += LOOK_MS) {
    const left = (await countWaiting(api, path)) - before
    if (left <= 0) return
    tellLeft(left)
    if (left < least) [least, still_ms] = [left, 0]
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** The deliveries that were not tried yet, or are to be tried again. */
async function countWaiting(api: Api, path: string): Promise<number> {
  const counts = await Promise.all(
    ['pending', 'retrying'].map(async (status) => {
      const list = `${path}/deliveries${query({ status, per_page: 1 })}`
      return (await api.get<unknown, { total: number }>(list)).meta.total
    }),
  )
  return counts[0]! + counts[1]!
}
