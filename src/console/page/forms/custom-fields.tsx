/** The organization's own fields of a ticket, contact or company: rows of name and value, shown and edited. */
import { useState } from 'preact/hooks'
import type { Custom, CustomValue } from '../../../desk/custom/model'
import { Button } from '../ui/buttons'
import { t } from '../words/catalogue'

type Row = { key: number; name: string; text: string }

/** Edits them; the hidden field has them as JSON. */
export function CustomFields({ name, value }: { name: string; value: Custom }) {
  const [rows, setRows] = useState<Row[]>(() =>
    Object.entries(value).map(([name, one], key) => ({ key, name, text: textOfValue(one) })),
  )
  const change = (key: number, changes: Partial<Row>) =>
    setRows((before) => before.map((row) => (row.key === key ? { ...row, ...changes } : row)))
  const custom = Object.fromEntries(
    rows.filter(({ name }) => name !== '').map(({ name, text }) => [name, readValue(text)]),
  )
  return (
    <div class="custom">
      {rows.map(({ key, name, text }) => (
        <div class="custom-row" key={key}>
          <input
            type="text"
            value={name}
            maxLength={63}
            placeholder="account_tier"
            aria-label={t('custom.name')}
            onInput={(event) => change(key, { name: event.currentTarget.value.trim() })}
          />
          <input
            type="text"
            dir="auto"
            value={text}
            aria-label={t('custom.value', { name })}
            onInput={(event) => change(key, { text: event.currentTarget.value })}
          />
          <Button
            text={t('act.remove')}
            label={t('custom.remove', { name })}
            onClick={() => setRows((before) => before.filter((row) => row.key !== key))}
          />
        </div>
      ))}
      <input type="hidden" name={name} value={JSON.stringify(custom)} />
      <Button
        text={t('custom.add')}
        onClick={() => setRows((before) => [...before, { key: Date.now(), name: '', text: '' }])}
      />
    </div>
  )
}

/** Shows them. */
export function CustomList({ custom }: { custom: Custom }) {
  return (
    <>
      {Object.entries(custom).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{Array.isArray(value) ? value.join(', ') : String(value)}</dd>
        </div>
      ))}
    </>
  )
}

/** A value as one types it: text as it is, in quotes when it reads as something else; all else as JSON. */
function textOfValue(value: CustomValue): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return typeof readValue(value) === 'string' && !value.startsWith('"') ? value : JSON.stringify(value)
}

/** The typed value: a number, true, false, a list such as `["eu", "beta"]`, a text in quotes, or a text. */
function readValue(text: string): CustomValue {
  try {
    const value: unknown = JSON.parse(text)
    if (['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value)) return value as CustomValue
  } catch {}
  return text
}
