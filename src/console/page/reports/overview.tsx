/** Mail, webhooks and requests over time, what waits, and what needs attention. */
import type { Stats } from '../../../desk/stats/model'
import { useLive } from '../live'
import { changed, go, hrefOf } from '../route'
import { Dot } from '../ui/marks'
import { number, Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Plot } from './plot'

const PERIODS = ['hour', 'day', 'month'] as const
const EVERY_MS = 15_000

const WAITING = ['inbound', 'email', 'webhooks', 'held'] as const

export function Overview({ api, route }: View) {
  const period = PERIODS.find((name) => name === route.query.get('period')) ?? 'hour'
  const live = useLive<Stats>(
    `${api.organization_id} stats ${period}`,
    async (_before, signal) => (await api.get<Stats>(`/stats?period=${period}`, { signal })).data,
    EVERY_MS,
  )
  const stats = live.value
  return (
    <>
      <fieldset class="tabs">
        <legend class="unseen">{t('reports.period')}</legend>
        {PERIODS.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === period}
            onClick={() => go(hrefOf(api.organization_id, route.path, changed(route.query, { period: name })))}
          >
            {t(`reports.${name}`)}
          </button>
        ))}
      </fieldset>
      {stats ? <Figures stats={stats} /> : <Waiting error={live.error} />}
    </>
  )
}

function Figures({ stats }: { stats: Stats }) {
  const { mail_in, mail_out, webhooks, requests, from, step_seconds } = stats
  const times = mail_in.tickets.map((_, step) => Date.parse(from) / 1000 + step * step_seconds)
  const over = { times, step_seconds }
  return (
    <>
      <Findings stats={stats} />
      <WaitingNow stats={stats} />
      <div class="plots">
        <Plot
          title={t('reports.mail_in')}
          over={over}
          series={[
            [t('reports.new_tickets'), 'blue', mail_in.tickets],
            [t('reports.joined'), 'green', mail_in.messages],
            [t('reports.bounces'), 'red', mail_in.bounces],
            [t('reports.others'), 'gray', mail_in.others],
          ]}
        />
        <Plot
          title={t('reports.mail_out')}
          over={over}
          series={[
            [t('mail.sent'), 'green', mail_out.sent],
            [t('mail.failed'), 'red', mail_out.failed],
            [t('mail.bounced'), 'orange', mail_out.bounced],
          ]}
        />
        <Plot
          title={t('reports.deliveries')}
          over={over}
          series={[
            [t('reports.answered'), 'green', webhooks.ok],
            [t('mail.failed'), 'red', webhooks.failed],
          ]}
        />
        <Plot
          title={t('reports.response_time')}
          unit="ms"
          over={over}
          series={[[t('reports.average'), 'purple', webhooks.response_time_ms]]}
        />
        <Plot
          title={t('reports.requests')}
          over={over}
          series={[
            [t('reports.answered'), 'blue', requests.ok],
            [t('reports.refused'), 'orange', requests.refused],
            [t('mail.failed'), 'red', requests.failed],
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
        <Dot kind="sent">{t('reports.fine')}</Dot>
      </p>
    )
  }
  return (
    <ul class="findings" aria-label={t('reports.attention')}>
      {stats.findings.map(({ level, message, action }) => (
        <li key={message}>
          <Dot kind={level === 'error' ? 'failed' : 'queued'}>{t(`reports.${level}`)}</Dot> <strong>{message}</strong>{' '}
          {action}
        </li>
      ))}
    </ul>
  )
}

function WaitingNow({ stats }: { stats: Stats }) {
  return (
    <dl class="waiting">
      {WAITING.map((name) => {
        const { count, oldest_at } = stats.waiting[name]
        return (
          <div key={name}>
            <dt>{t(`reports.waiting_${name}`)}</dt>
            <dd>
              {number(count)}
              {oldest_at && (
                <small>
                  {t('reports.oldest')} <Time at={oldest_at} />
                </small>
              )}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
