/** Rules: macros that are applied by themselves when an event happens. */
import type { Rule } from '../../../desk/rules/model'
import type { Option, Spec } from '../forms/spec'
import { useNames } from '../names'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { eventFilterSpecs, useFilterNames, withFilter } from './filter-form'
import { Managed } from './managed'
import { EVENT_OPTIONS } from './webhook-form'

/** Nothing is left to apply a macro to after these. */
const NOT_FOR_RULES = /\.(deleted|erased|merged)$/
const RULE_EVENTS = () =>
  EVENT_OPTIONS().filter(({ value }) => /^(ticket|message)\./.test(value) && !NOT_FOR_RULES.test(value))

export function RuleSettings({ api }: View) {
  const names = useFilterNames(api)
  const macros = (useNames(api, 'macros') ?? []).map(({ id, name }) => ({ value: id, text: name }))
  const macroOf = (id: string | null) => macros.find(({ value }) => value === id)?.text
  return (
    <>
      <p class="hint">{t('rule.means')}</p>
      <Managed<Rule>
        api={api}
        path="/rules"
        caption={t('settings.rules')}
        adding={t('rule.add')}
        empty={t('rule.none')}
        head={[t('field.name'), t('rule.on'), t('rule.macro'), t('field.status')]}
        nameOf={({ name }) => name}
        cells={(one) => (
          <>
            <td dir="auto">{one.name}</td>
            <td class="wide">
              {one.on}
              {one.filter && <small>{t('webhook.has_filter')}</small>}
            </td>
            <td class="wide" dir="auto">
              {one.macro_id === null ? t('rule.no_macro') : macroOf(one.macro_id)}
            </td>
            <td>
              <RuleState rule={one} />
            </td>
          </>
        )}
        specs={() => ruleSpecs(macros, eventFilterSpecs(names))}
        startOf={(one) => ({ on: 'ticket.created', ...one, filter: { ...one?.filter } })}
        toBody={withFilter}
        deleteMeans={() => t('rule.delete_means')}
        acts={(one, reload) => {
          const is_on = one.active && one.status === 'active'
          if (!is_on && one.macro_id === null) return null
          const set = async () => {
            await api.patch(`/rules/${one.id}`, { active: !is_on })
            await reload()
          }
          return <Action run={set}>{t(is_on ? 'rule.switch_off' : 'rule.switch_on')}</Action>
        }}
      />
    </>
  )
}

function RuleState({ rule: { active, status, failures } }: { rule: Rule }) {
  if (!active) return <Dot kind="closed">{t('webhook.off')}</Dot>
  if (status === 'failed') return <Dot kind="failed">{t('webhook.failed')}</Dot>
  return (
    <>
      <Dot kind="sent">{t('webhook.active')}</Dot>
      {failures > 0 && <small>{t('rule.failures', { count: failures })}</small>}
    </>
  )
}

function ruleSpecs(macros: Option[], filter: Spec[]): Spec[] {
  return [
    { kind: 'text', name: 'name', label: t('field.name'), hint: t('rule.name_hint'), max: 255, required: true },
    { kind: 'choice', name: 'on', label: t('rule.on'), options: RULE_EVENTS() },
    {
      kind: 'choice',
      name: 'macro_id',
      label: t('rule.macro'),
      hint: t('rule.macro_hint'),
      options: [{ value: '', text: t('rule.choose_macro') }, ...macros],
      required: true,
    },
    ...filter,
  ]
}
