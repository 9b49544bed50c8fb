/** Mail, webhooks and requests over time, what waits, and what needs attention. */
import type { Stats } from '../../../desk/stats/model'
import { useLive } from '../live'
import { changed, go, hrefOf } from '../route'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { Plot } from './plot'

const PERIODS = [
  ['hour', 'Last hour'],
  ['day', 'Last day'],
  ['month', 'Last month'],
] as const
const EVERY_MS = 15_000

const WAITING = [
  ['inbound', 'Inbound email to be filed'],
  ['email', 'Email to be sent'],
  ['webhooks', 'Webhook deliveries'],
  ['held', 'Deliveries held for a failed webhook'],
] as const

export function Overview({ api, route }: View) {
  const period = PERIODS.find(([name]) => name === route.query.get('period'))?.[0] ?? 'hour'
  const live = useLive<Stats>(
    `${api.organization_id} stats ${period}`,
    async (_before, signal) => (await api.get<Stats>(`/stats?period=${period}`, { signal })).data,
    EVERY_MS,
  )
  const stats = live.value
  return (
    <>
      <fieldset class="tabs">
        <legend class="unseen">Period</legend>
        {PERIODS.map(([name, text]) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === period}
            onClick={() => go(hrefOf(api.organization_id, route.path, changed(route.query, { period: name })))}
          >
            {text}
          </button>
        ))}
      </fieldset>
      {stats ? <Figures stats={stats} /> : <Waiting error={live.error} />}
    </>
  )
}

function Figures({ stats }: { stats: Stats }) {
  const { mail_in, mail_out, webhooks, requests } = stats
  return (
    <>
      <Findings stats={stats} />
      <WaitingNow stats={stats} />
      <div class="plots">
        <Plot
          title="Mail in"
          stats={stats}
          series={[
            ['new tickets', 'blue', mail_in.tickets],
            ['joined tickets', 'green', mail_in.messages],
            ['bounces', 'red', mail_in.bounces],
            ['others', 'gray', mail_in.others],
          ]}
        />
        <Plot
          title="Mail out"
          stats={stats}
          series={[
            ['sent', 'green', mail_out.sent],
            ['failed', 'red', mail_out.failed],
            ['bounced', 'orange', mail_out.bounced],
          ]}
        />
        <Plot
          title="Webhook deliveries"
          stats={stats}
          series={[
            ['answered', 'green', webhooks.ok],
            ['failed', 'red', webhooks.failed],
          ]}
        />
        <Plot
          title="Response time of webhooks"
          unit="ms"
          stats={stats}
          series={[['average', 'purple', webhooks.response_time_ms]]}
        />
        <Plot
          title="Requests"
          stats={stats}
          series={[
            ['answered', 'blue', requests.ok],
            ['refused', 'orange', requests.refused],
            ['failed', 'red', requests.failed],
          ]}
        />
      </div>
    </>
  )
}

function Findings({ stats }: { stats: Stats }) {
  if (stats.findings.length === 0) {
    return (
      <p class="fine">
        <Dot kind="sent">Nothing needs attention.</Dot>
      </p>
    )
  }
  return (
    <ul class="findings" aria-label="What needs attention">
      {stats.findings.map(({ level, message, action }) => (
        <li key={message}>
          <Dot kind={level === 'error' ? 'failed' : 'queued'}>{level}</Dot> <strong>{message}</strong> {action}
        </li>
      ))}
    </ul>
  )
}

function WaitingNow({ stats }: { stats: Stats }) {
  return (
    <dl class="waiting">
      {WAITING.map(([name, text]) => {
        const { count, oldest_at } = stats.waiting[name]
        return (
          <div key={name}>
            <dt>{text}</dt>
            <dd>
              {count.toLocaleString('en')}
              {oldest_at && (
                <small>
                  the oldest <Time at={oldest_at} />
                </small>
              )}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
