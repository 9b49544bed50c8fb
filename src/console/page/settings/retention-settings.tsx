/** Rules about old tickets, with what they would do now, and labels that keep tickets. */
import { useState } from 'preact/hooks'
import type { Retention, RetentionPreview, RetentionRule } from '../../../desk/retention/model'
import { type Api, Refusal } from '../api'
import { useLive } from '../live'
import { useNames } from '../names'
import { hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Labels, RuleFields } from './retention-rule'

const SELDOM_MS = 300_000
const NEW_RULE: RetentionRule = {
  status: 'closed',
  label_ids: [],
  company_ids: [],
  days: 730,
  action: 'erase',
  active: true,
}

/** A rule of the form has a key of its own, so that it stays itself when others come and go. */
type Draft = Omit<Retention, 'rules'> & { rules: (RetentionRule & { key: number })[] }

export function RetentionSettings(view: View) {
  const { api } = view
  const live = useLive<Retention>(
    `retention ${api.organization_id}`,
    async (_before, signal) => (await api.get<Retention>('/retention', { signal })).data,
    SELDOM_MS,
  )
  if (!live.value) return <Waiting error={live.error} />
  return <Edit {...view} retention={live.value} reload={live.reload} />
}

let keys = 0

function draftOf({ rules, hold_label_ids }: Retention): Draft {
  return { hold_label_ids, rules: rules.map((rule) => ({ ...rule, key: ++keys })) }
}

/** Keeps the rules that are edited, what they would do, and what the API finds wrong. */
function useDraft(api: Api, retention: Retention, reload: () => Promise<void>) {
  const [draft, setDraft] = useState(() => draftOf(retention))
  const [preview, setPreview] = useState<{ of: string; found: RetentionPreview }>()
  const [faults, setFaults] = useState<Record<string, string>>({})
  const body: Retention = { ...draft, rules: draft.rules.map(({ key: _, ...rule }) => rule) }
  const written = JSON.stringify(body)
  const { rules, hold_label_ids } = retention
  const send = async (run: () => Promise<void>) => {
    setFaults({})
    try {
      await run()
    } catch (error) {
      const errors = error instanceof Refusal ? error.details.errors : undefined
      if (!errors?.length) throw error
      setFaults(Object.fromEntries(errors.map(({ path, message }) => [path, message])))
    }
  }
  return {
    draft,
    setDraft,
    is_same: written === JSON.stringify({ hold_label_ids, rules }),
    found: preview?.of === written ? preview.found : undefined,
    faultAt: (path: string) => Object.entries(faults).find(([at]) => at === path || at.startsWith(`${path}/`))?.[1],
    look: () =>
      send(async () => {
        const { data } = await api.post<RetentionPreview>('/retention/preview', body)
        setPreview({ of: written, found: data })
      }),
    save: () =>
      send(async () => {
        const { data } = await api.patch<Retention>('/retention', body)
        setDraft(draftOf(data))
        tell(t('retention.saved'))
        await reload()
      }),
  }
}

function Edit({ api, retention, reload }: View & { retention: Retention; reload: () => Promise<void> }) {
  const { draft, setDraft, is_same, found, faultAt, look, save } = useDraft(api, retention, reload)
  const labels = (useNames(api, 'labels') ?? []).map(({ id, name }) => ({ value: id, text: name }))
  const setRules = (rules: Draft['rules']) => setDraft({ ...draft, rules })
  return (
    <>
      <p class="hint">{t('retention.means')}</p>
      <ol class="rules">
        {draft.rules.map((rule, place) => (
          <li key={rule.key} class="card narrow">
            <RuleFields
              place={place}
              rule={rule}
              labels={labels}
              api={api}
              fault={faultAt(`/rules/${place}`)}
              onChange={(changes) =>
                setRules(draft.rules.map((one) => (one.key === rule.key ? { ...one, ...changes } : one)))
              }
              onRemove={() => setRules(draft.rules.filter(({ key }) => key !== rule.key))}
            />
            {found?.rules[place] && <Found {...found.rules[place]} rule={rule} organization_id={api.organization_id} />}
          </li>
        ))}
      </ol>
      {draft.rules.length === 0 && <p class="empty">{t('retention.none')}</p>}
      <p>
        <Button text={t('retention.add')} onClick={() => setRules([...draft.rules, { ...NEW_RULE, key: ++keys }])} />
      </p>
      <section class="card narrow" aria-label={t('retention.holds')}>
        <h2>{t('retention.holds')}</h2>
        <p class="hint">{t('retention.holds_mean')}</p>
        <Labels
          legend={t('retention.hold_labels')}
          labels={labels}
          chosen={draft.hold_label_ids}
          onChange={(hold_label_ids) => setDraft({ ...draft, hold_label_ids })}
        />
        {faultAt('/hold_label_ids') && <p class="fault">{faultAt('/hold_label_ids')}</p>}
        {found && <p>{t('retention.held', { count: found.held })}</p>}
      </section>
      <p class="buttons">
        <Action run={look}>{t('retention.preview')}</Action>
        <Action kind="main" run={save} disabled={is_same}>
          {t('act.save')}
        </Action>
      </p>
    </>
  )
}

type FoundProps = RetentionPreview['rules'][number] & { rule: RetentionRule; organization_id: string }

/** The effect of a rule now. */
function Found({ tickets, oldest, rule, organization_id }: FoundProps) {
  return (
    <div class="found" role="status">
      <p>{t(rule.action === 'erase' ? 'retention.would_erase' : 'retention.would_delete', { count: tickets })}</p>
      {oldest.length > 0 && (
        <ul>
          {oldest.map(({ id, code, subject, updated_at }) => (
            <li key={id} dir="auto">
              <a href={hrefOf(organization_id, ['tickets', id])}>
                <span class="code">{code}</span> {subject}
              </a>{' '}
              <Time at={updated_at} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
