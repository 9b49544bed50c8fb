/** Figures of an organization as the API shows them. */
import { Type } from '@sinclair/typebox'
import { Instant, orNull } from '../../base/shapes/answers'
import { oneOf } from '../../base/shapes/fields'
import { query, queryWord } from '../../base/shapes/query'

export const PERIODS = ['hour', 'day', 'month'] as const

export const StatsQuery = query({
  period: queryWord(PERIODS, { description: 'Default hour. The last 60 minutes, 24 hours or 30 days' }),
})
export type StatsQuery = typeof StatsQuery.static

const series = (description: string) => Type.Array(Type.Integer(), { description })

const Waiting = (what: string) =>
  Type.Object(
    {
      count: Type.Integer({ description: 'How many' }),
      oldest_at: orNull(Instant, { description: 'Since when the oldest of them has been due; null: nothing waits' }),
    },
    { description: what },
  )

export const Stats = Type.Object({
  period: oneOf(PERIODS, { description: 'As asked for' }),
  step_seconds: Type.Integer({ description: 'What each place of a series stands for' }),
  from: Instant,
  to: Instant,
  mail_in: Type.Object(
    {
      tickets: series('Became tickets'),
      messages: series('Joined tickets'),
      bounces: series('Reported about an email of ours'),
      others: series('Came again, were our own, or reported about nothing of ours'),
    },
    { description: 'Inbound email by outcome. Every series is of the same length, the oldest step first' },
  ),
  mail_out: Type.Object(
    { sent: series('Taken by the server'), failed: series('Given up'), bounced: series('Came back') },
    { description: 'Recipients of outbound email' },
  ),
  webhooks: Type.Object(
    {
      ok: series('Answered with 2xx'),
      failed: series('Not answered, or not with 2xx'),
      response_time_ms: Type.Array(orNull(Type.Integer()), { description: 'Average; null: no attempt in the step' }),
    },
    { description: 'Attempts to deliver' },
  ),
  requests: Type.Object(
    { ok: series('Answered below 400'), refused: series('4xx'), failed: series('5xx') },
    { description: 'Requests in the organization' },
  ),
  waiting: Type.Object(
    {
      inbound: Waiting('Inbound email that is not filed yet'),
      email: Waiting('Outbound email that is due'),
      webhooks: Waiting('Webhook deliveries that are due'),
      held: Waiting('Webhook deliveries that wait for a failed webhook'),
    },
    { description: 'Now, however long ago it came' },
  ),
  findings: Type.Array(
    Type.Object({
      level: oneOf(['error', 'warning'], { description: '`error`: something does not work' }),
      message: Type.String({ description: 'What is wrong' }),
      action: Type.String({ description: 'What to do about it' }),
    }),
    { description: 'What needs attention in the organization, the worst first' },
  ),
  smtp: orNull(
    Type.Object({
      hostname: Type.String({ description: 'As the listener names itself' }),
      port: Type.Integer({ description: 'Where it listens' }),
    }),
    { description: 'Where this service takes inbound email; null: it takes none' },
  ),
})
export type Stats = typeof Stats.static
