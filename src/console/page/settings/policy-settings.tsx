/** SLA policies: within what time the team answers and resolves which tickets. */
import type { SlaPolicy } from '../../../desk/sla-policies/model'
import { Refusal } from '../api'
import type { Body, Option, Spec } from '../forms/spec'
import { useNames } from '../names'
import { Dot } from '../ui/marks'
import { term } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { ticketFilterSpecs, useFilterNames, withTicketFilter } from './filter-form'
import { Managed } from './managed'

const PRIORITIES = ['urgent', 'high', 'normal', 'low'] as const
const PROMISES = ['first_reply_minutes', 'next_reply_minutes', 'resolve_minutes'] as const
type Target = SlaPolicy['targets'][number]

export function PolicySettings({ api }: View) {
  const names = useFilterNames(api)
  const schedules = (useNames(api, 'schedules') ?? []).map(({ id, name }) => ({ value: id, text: name }))
  const scheduleOf = (id: string | null) =>
    id === null ? t('policy.always') : schedules.find(({ value }) => value === id)?.text
  return (
    <>
      <p class="hint">{t('policy.means')}</p>
      <Managed<SlaPolicy>
        api={api}
        path="/sla-policies"
        caption={t('settings.policies')}
        adding={t('policy.add')}
        empty={t('policy.none')}
        head={[t('field.name'), t('policy.position'), t('policy.targets'), t('policy.schedule'), t('field.status')]}
        nameOf={({ name }) => name}
        cells={({ name, position, filter, targets, schedule_id, active }) => (
          <>
            <td dir="auto">
              {name}
              {Object.keys(filter).length > 0 && <small>{t('webhook.has_filter')}</small>}
            </td>
            <td class="number">{position}</td>
            <td class="wide">
              {targets.map((target) => (
                <small key={target.priority}>{targetWords(target)}</small>
              ))}
            </td>
            <td dir="auto">{scheduleOf(schedule_id)}</td>
            <td>
              <Dot kind={active ? 'sent' : 'closed'}>{t(active ? 'webhook.active' : 'webhook.off')}</Dot>
            </td>
          </>
        )}
        specs={() => policySpecs(schedules, ticketFilterSpecs(names))}
        startOf={(one) => ({ active: true, ...one, filter: { ...one?.filter }, targets: byPriority(one?.targets) })}
        toBody={(body) => withTargets(withTicketFilter(body))}
        deleteMeans={() => t('policy.delete_means')}
      />
    </>
  )
}

function policySpecs(schedules: Option[], filter: Spec[]): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), max: 255, required: true },
    { kind: 'check', name: 'active', label: t('policy.active') },
    {
      kind: 'number',
      name: 'position',
      label: t('policy.position'),
      hint: t('policy.position_hint'),
      min: 0,
      max: 1_000_000,
    },
    {
      kind: 'choice',
      name: 'schedule_id',
      label: t('policy.schedule'),
      options: [{ value: '', text: t('policy.always') }, ...schedules],
    },
    ...PRIORITIES.flatMap((priority, place) =>
      PROMISES.map((promise, at): Spec => {
        return {
          kind: 'number',
          name: `targets.${priority}.${promise}`,
          label: t('policy.of_priority', { priority: t(`priority.${priority}`), promise: t(`policy.${promise}`) }),
          // The first one shows a fault of all.
          ...(place === 0 && at === 0 && { hint: t('policy.targets_hint'), stands_for: 'targets' }),
          min: 1,
          max: 525_600,
        }
      }),
    ),
    ...filter,
  ]
}

/** The targets as the form has them. */
function byPriority(targets: Target[] = []): Body {
  return Object.fromEntries(targets.map(({ priority, ...minutes }) => [priority, minutes]))
}

/** The targets of a form as the service takes them: those that promise something. @throws Refusal without any */
function withTargets(body: Body): Body {
  if (!body.targets) return body
  const given = Object.entries(body.targets as Record<string, Omit<Target, 'priority'>>)
  const targets = given.flatMap(([priority, minutes]) =>
    Object.values(minutes).some((value) => value !== null) ? [{ priority, ...minutes }] : [],
  )
  if (targets.length === 0) {
    const errors = [{ path: '/targets', message: t('policy.needs_target') }]
    throw new Refusal(422, 'VALIDATION_ERROR', t('policy.needs_target'), { errors })
  }
  return { ...body, targets }
}

function targetWords({ priority, ...minutes }: Target): string {
  const promises = PROMISES.flatMap((name) =>
    minutes[name] === null ? [] : [`${t(`policy.${name}`)} ${term(minutes[name])}`],
  )
  return `${t(`priority.${priority}`)}: ${promises.join(', ')}`
}
