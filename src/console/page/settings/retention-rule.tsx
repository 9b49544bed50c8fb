/** The fields of one rule about old tickets. */
import type { RetentionRule } from '../../../desk/retention/model'
import type { Api } from '../api'
import { findCompanies, nameCompany } from '../customers/find'
import { Picks } from '../forms/picks'
import type { Option } from '../forms/spec'
import { Button } from '../ui/buttons'
import { Choice } from '../ui/form-fields'
import { t } from '../words/catalogue'

type Props = {
  place: number
  rule: RetentionRule
  labels: Option[]
  api: Api
  fault: string | undefined
  onChange: (changes: Partial<RetentionRule>) => void
  onRemove: () => void
}

export function RuleFields({ place, rule, labels, api, fault, onChange, onRemove }: Props) {
  return (
    <fieldset>
      <legend>{t('retention.rule', { number: place + 1 })}</legend>
      <div class="filter-bar">
        <Choice
          label={t('field.status')}
          value={rule.status}
          options={(['resolved', 'closed'] as const).map((value) => ({ value, text: t(`status.${value}`) }))}
          onChoose={(status) => onChange({ status: status as RetentionRule['status'] })}
        />
        <label class="field">
          <span>{t('retention.days')}</span>
          <input
            type="number"
            min={1}
            max={36_500}
            value={rule.days}
            onInput={(event) => onChange({ days: Number(event.currentTarget.value) })}
          />
        </label>
        <Choice
          label={t('retention.action')}
          value={rule.action}
          options={(['erase', 'delete'] as const).map((value) => ({ value, text: t(`retention.${value}`) }))}
          onChoose={(action) => onChange({ action: action as RetentionRule['action'] })}
        />
      </div>
      <Check text={t('retention.active')} checked={rule.active} onChange={(active) => onChange({ active })} />
      <Labels
        legend={t('retention.with_label')}
        labels={labels}
        chosen={rule.label_ids}
        onChange={(label_ids) => onChange({ label_ids })}
      />
      <fieldset class="field">
        <legend>{t('retention.of_company')}</legend>
        <Picks
          label={t('retention.of_company')}
          find={findCompanies(api)}
          nameOf={nameCompany(api)}
          chosen={rule.company_ids}
          onChange={(company_ids) => onChange({ company_ids })}
        />
      </fieldset>
      {fault && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <Button text={t('act.remove')} label={t('retention.remove', { number: place + 1 })} onClick={onRemove} />
    </fieldset>
  )
}

type LabelsProps = { legend: string; labels: Option[]; chosen: string[]; onChange: (ids: string[]) => void }

/** Labels to choose from. One that was deleted can only be taken away. */
export function Labels({ legend, labels, chosen, onChange }: LabelsProps) {
  const gone = chosen.filter((id) => !labels.some(({ value }) => value === id))
  const options = [...labels, ...gone.map((value) => ({ value, text: t('retention.label_gone') }))]
  if (options.length === 0) return <p class="hint">{t('label.none')}</p>
  return (
    <fieldset class="field checks">
      <legend>{legend}</legend>
      {options.map(({ value, text }) => (
        <Check
          key={value}
          text={text}
          checked={chosen.includes(value)}
          onChange={(is_on) => onChange(is_on ? [...chosen, value] : chosen.filter((id) => id !== value))}
        />
      ))}
    </fieldset>
  )
}

type CheckProps = { text: string; checked: boolean; onChange: (checked: boolean) => void }

function Check({ text, checked, onChange }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span dir="auto">{text}</span>
    </label>
  )
}
