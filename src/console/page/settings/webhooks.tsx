/** Webhooks: the list, and one of them with its deliveries. */
import type { Webhook } from '../../../delivery/webhooks/model'
import { hrefOf } from '../route'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { useFilterNames, withFilter } from './filter-form'
import { Managed } from './managed'
import { EVENTS, webhookSpecs, webhookValue } from './webhook-form'
import { WebhookPage } from './webhook-page'
import { WebhookState } from './webhook-state'

export function Webhooks(view: View) {
  const id = view.route.path[2]
  return id ? <WebhookPage key={id} {...view} id={id} delivery_id={view.route.path[3]} /> : <WebhookList {...view} />
}

function WebhookList({ api }: View) {
  const names = useFilterNames(api)
  return (
    <Managed<Webhook>
      api={api}
      path="/webhooks"
      caption={t('settings.webhooks')}
      adding={t('webhook.add')}
      empty={t('webhook.none')}
      head={[t('webhook.url'), t('webhook.events'), t('field.status')]}
      nameOf={({ url }) => url}
      cells={(one) => (
        <>
          <td class="wide">
            <a href={hrefOf(api.organization_id, ['settings', 'webhooks', one.id])}>{one.url}</a>
            <small>{t(one.has_secret ? 'webhook.signed' : 'webhook.unsigned')}</small>
            {one.ordered && <small>{t('webhook.is_ordered')}</small>}
          </td>
          <td class="wide">
            {one.events.length >= EVENTS.length ? t('webhook.all_events') : one.events.join(', ')}
            {one.filter && <small>{t('webhook.has_filter')}</small>}
          </td>
          <td>
            <WebhookState hook={one} />
          </td>
        </>
      )}
      specs={(one) => webhookSpecs(names, one)}
      startOf={webhookValue}
      toBody={withFilter}
      deleteMeans={() => t('webhook.delete_means')}
    />
  )
}
