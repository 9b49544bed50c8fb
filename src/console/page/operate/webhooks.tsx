/** Webhooks and their deliveries. */
import { useState } from 'preact/hooks'
import type { Delivery, DeliveryDetail, Webhook } from '../../../delivery/webhooks/model'
import { useRows } from '../lists'
import { useLive } from '../live'
import { go, hrefOf } from '../route'
import { Table } from '../rows'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'

const EVENTS = `ticket.created ticket.updated ticket.deleted ticket.assigned ticket.status_changed message.created
  message.deleted contact.created contact.updated contact.deleted time_entry.created time_entry.updated
  time_entry.deleted`.split(/\s+/)
const DOT: Record<string, string> = { success: 'sent', failed: 'failed', retrying: 'queued', pending: 'queued' }

export function Webhooks(view: View) {
  const { api, route } = view
  const [id, delivery_id] = [route.path[2], route.path[3]]
  const list = useRows<Webhook>(api, '/webhooks')
  const [is_making, setMaking] = useState(false)
  if (id) return <OneWebhook key={id} api={api} id={id} delivery_id={delivery_id} />
  return (
    <>
      <Table
        adding={{ text: 'Add a webhook', begin: () => setMaking(true) }}
        list={list}
        caption="Webhooks"
        head={['Address', 'Events', 'Status', 'Signed']}
        empty="There is no webhook."
        row={({ id, url, events, status, active, has_secret }) => (
          <>
            <td class="wide">
              <a href={hrefOf(api.organization_id, ['operate', 'webhooks', id])}>{url}</a>
            </td>
            <td>{events.length === EVENTS.length ? 'all' : events.join(', ')}</td>
            <td>
              <Dot kind={!active ? 'closed' : status === 'failed' ? 'failed' : 'sent'}>{active ? status : 'off'}</Dot>
            </td>
            <td>{has_secret ? 'yes' : 'no'}</td>
          </>
        )}
      />
      {is_making && <Making api={api} onClose={() => setMaking(false)} reload={list.reload} />}
    </>
  )
}

function Making({ api, onClose, reload }: Pick<View, 'api'> & { onClose: () => void; reload: () => Promise<void> }) {
  const add = async (form: FormData) => {
    const secret = form.get('secret') || null
    await api.post('/webhooks', { url: form.get('url'), events: form.getAll('events'), secret })
    onClose()
    await reload()
  }
  return (
    <Dialog title="Add a webhook" onClose={onClose}>
      <Form submit="Add" onCancel={onClose} send={add}>
        <Field label="Address" name="url" type="url" placeholder="https://" required />
        <Field label="Secret" name="secret" hint="Signs the deliveries. It is not shown again." />
        <fieldset class="checks">
          <legend>Events</legend>
          {EVENTS.map((event) => (
            <label key={event} class="check">
              <input type="checkbox" name="events" value={event} defaultChecked /> {event}
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}

function OneWebhook({ api, id, delivery_id }: Pick<View, 'api'> & { id: string; delivery_id: string | undefined }) {
  const path = `/webhooks/${id}`
  const webhook = useLive<Webhook>(path, async (_before, signal) => (await api.get<Webhook>(path, { signal })).data)
  const deliveries = useRows<Delivery>(api, `${path}/deliveries`)
  const hook = webhook.value
  if (!hook) return <Waiting error={webhook.error} />
  const here = ['operate', 'webhooks', id]
  return (
    <>
      <p>
        <a href={hrefOf(api.organization_id, ['operate', 'webhooks'])}>All webhooks</a>
      </p>
      <h2>{hook.url}</h2>
      <Switches api={api} hook={hook} reload={webhook.reload} reloadDeliveries={deliveries.reload} />
      <Table
        list={deliveries}
        caption="Deliveries"
        head={['Made', 'Event', 'Status', 'Answer', 'Time', 'Attempts', 'Next']}
        empty="Nothing was delivered yet."
        row={(one) => <DeliveryRow one={one} href={hrefOf(api.organization_id, [...here, one.id])} />}
      />
      {delivery_id && (
        <OneDelivery
          api={api}
          path={`${path}/deliveries/${delivery_id}`}
          onClose={() => {
            go(hrefOf(api.organization_id, here))
            void deliveries.reload()
          }}
        />
      )}
    </>
  )
}

function Switches({
  api,
  hook,
  reload,
  reloadDeliveries,
}: Pick<View, 'api'> & { hook: Webhook; reload: () => Promise<void>; reloadDeliveries: () => Promise<void> }) {
  const path = `/webhooks/${hook.id}`
  const is_on = hook.active && hook.status !== 'failed'
  const set = async (active: boolean) => {
    await api.patch(path, { active })
    await reload()
  }
  const test = async () => {
    const { data } = await api.post<Delivery>(`${path}/test`)
    tell(data.status === 'success' ? `It answered ${data.response_code}.` : `It failed: ${data.error}.`)
    await reloadDeliveries()
  }
  return (
    <p class="line">
      <Dot kind={!hook.active ? 'closed' : hook.status === 'failed' ? 'failed' : 'sent'}>
        {hook.active ? hook.status : 'off'}
      </Dot>
      <Action run={test} disabled={!is_on}>
        Test it
      </Action>
      <Action kind={is_on ? 'quiet' : 'main'} run={() => set(!is_on)}>
        {is_on ? 'Switch it off' : 'Enable it again'}
      </Action>
    </p>
  )
}

function DeliveryRow({ one, href }: { one: Delivery; href: string }) {
  return (
    <>
      <td>
        <a href={href}>
          <Time at={one.created_at} />
        </a>
      </td>
      <td>{one.event}</td>
      <td>
        <Dot kind={DOT[one.status] ?? 'closed'}>{one.status}</Dot>
      </td>
      <td>{one.response_code ?? one.error ?? ''}</td>
      <td>{one.response_time_ms === null ? '' : `${one.response_time_ms} ms`}</td>
      <td>{one.attempts}</td>
      <td>{one.next_attempt_at && <Time at={one.next_attempt_at} />}</td>
    </>
  )
}

function OneDelivery({ api, path, onClose }: Pick<View, 'api'> & { path: string; onClose: () => void }) {
  const live = useLive<DeliveryDetail>(
    path,
    async (_before, signal) => (await api.get<DeliveryDetail>(path, { signal })).data,
  )
  const one = live.value
  return (
    <Dialog title="Delivery" onClose={onClose}>
      {!one && <Waiting error={live.error} />}
      {one && (
        <>
          <p class="line">
            <Dot kind={DOT[one.status] ?? 'closed'}>{one.status}</Dot> {one.event} <Time at={one.created_at} />
          </p>
          <h3>Attempts</h3>
          <ol>
            {one.attempt_log.map(({ attempt, started_at, response_code, response_time_ms, error, response_head }) => (
              <li key={attempt}>
                <Time at={started_at} />: {response_code ?? error} after {response_time_ms} ms
                {response_head && <pre>{response_head}</pre>}
              </li>
            ))}
          </ol>
          <h3>Body</h3>
          <pre>{one.request_body}</pre>
          <p class="buttons">
            <Action
              kind="main"
              run={async () => {
                await api.post(`${path}/retry`)
                tell('It was sent again.')
                await live.reload()
              }}
            >
              Send it again
            </Action>
            <Button text="Close" onClick={onClose} />
          </p>
        </>
      )}
    </Dialog>
  )
}
