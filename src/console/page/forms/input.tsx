/** One field of a form, with its label, its hint and its fault. */
import { useId, useRef, useState } from 'preact/hooks'
import { Button } from '../ui/buttons'
import { t } from '../words/catalogue'
import { CustomFields } from './custom-fields'
import { Files } from './file-field'
import { Pick } from './pick'
import { Picks } from './picks'
import type { Option, Spec } from './spec'

type Props = { spec: Spec; value: unknown; fault: string | undefined }

/** Tells if a field is a list of choices without groups. */
function isPlain(spec: Spec): boolean {
  return spec.kind === 'many' && !spec.options[0]?.group
}

/** Tells if the only group of a list of choices has the name of the whole. */
function isNamedByGroup(spec: Spec): boolean {
  return spec.kind === 'many' && spec.options[0]?.group === spec.label
}

/** A single field has a label; one of several parts is a group with a legend. */
export function Input({ spec, value, fault }: Props) {
  const id = useId()
  const described = [spec.hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ') || undefined
  const notes = (
    <>
      {spec.hint && (
        <small class="hint" id={`${id}-hint`}>
          {spec.hint}
        </small>
      )}
      {fault && (
        <small class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </small>
      )}
    </>
  )
  if (spec.kind === 'many' || spec.kind === 'picks' || spec.kind === 'custom') {
    return (
      <fieldset class={isPlain(spec) ? 'field checks' : 'field'} aria-describedby={described}>
        <legend class={isNamedByGroup(spec) ? 'unseen' : undefined}>{spec.label}</legend>
        <Group spec={spec} value={value} />
        {notes}
      </fieldset>
    )
  }
  return (
    <div class="field">
      {spec.kind === 'check' ? (
        <label class="check">
          <input type="checkbox" name={spec.name} defaultChecked={value === true} aria-describedby={described} />
          {spec.label}
        </label>
      ) : (
        <>
          <label for={id}>{spec.label}</label>
          <Control id={id} spec={spec} value={value} described={described} is_faulty={!!fault} />
        </>
      )}
      {notes}
    </div>
  )
}

type GroupProps = { spec: Extract<Spec, { kind: 'many' | 'picks' | 'custom' }>; value: unknown }

function Group({ spec, value }: GroupProps) {
  if (spec.kind === 'custom') return <CustomFields name={spec.name} value={(value ?? {}) as Record<string, never>} />
  const chosen = (value ?? []) as string[]
  if (spec.kind === 'picks') return <PicksField {...spec} value={chosen} />
  const groups = [...Map.groupBy(spec.options, ({ group }) => group)]
  return (
    <>
      {groups.map(([group, options]) => (
        <Checks key={group} {...spec} group={group} options={options} chosen={chosen} />
      ))}
    </>
  )
}

type ChecksProps = { name: string; group: string | undefined; options: Option[]; chosen: string[]; is_long?: boolean }

/** Choices of a group, with a button for all of them and one for none; without a name they are no group. */
function Checks({ name, group, options, chosen, is_long }: ChecksProps) {
  const place = useRef<HTMLFieldSetElement>(null)
  const checks = options.map((one) => (
    <label key={one.value} class="check">
      <input type="checkbox" name={name} value={one.value} defaultChecked={chosen.includes(one.value)} />
      <span dir="auto">{one.text}</span>
    </label>
  ))
  if (!group) return <>{checks}</>
  const choose = (is_chosen: boolean) => () => {
    for (const box of place.current!.querySelectorAll('input')) box.checked = is_chosen
    place.current!.dispatchEvent(new Event('change', { bubbles: true }))
  }
  return (
    <fieldset class="group" ref={place}>
      <legend>{group}</legend>
      <Button kind="bare" text={t('form.all')} label={t('form.all_of', { group })} onClick={choose(true)} />
      <Button kind="bare" text={t('form.none')} label={t('form.none_of', { group })} onClick={choose(false)} />
      <div class={is_long ? 'checks is-long' : 'checks'}>{checks}</div>
    </fieldset>
  )
}

type PicksProps = Extract<Spec, { kind: 'picks' }> & { value: string[] }

function PicksField({ name, label, find, nameOf, value }: PicksProps) {
  const [chosen, setChosen] = useState(value)
  return (
    <>
      <Picks label={label} find={find} nameOf={nameOf} chosen={chosen} onChange={setChosen} />
      {chosen.map((id) => (
        <input key={id} type="hidden" name={name} value={id} />
      ))}
    </>
  )
}

type ControlProps = { id: string; spec: Spec; value: unknown; described: string | undefined; is_faulty: boolean }

function Control({ id, spec, value, described, is_faulty }: ControlProps) {
  const given = {
    id,
    name: spec.name,
    required: spec.required,
    'aria-describedby': described,
    'aria-invalid': is_faulty || undefined,
  }
  const text = textOf(value)
  switch (spec.kind) {
    case 'area':
      return (
        <textarea
          {...given}
          rows={spec.rows ?? 4}
          maxLength={spec.max}
          placeholder={spec.placeholder}
          dir="auto"
          defaultValue={text}
        />
      )
    case 'lines': {
      const lines = ((value ?? []) as string[]).join('\n')
      return <textarea {...given} rows={spec.rows ?? 3} placeholder={spec.placeholder} defaultValue={lines} />
    }
    case 'choice':
      return (
        <select {...given} defaultValue={text}>
          {spec.options.map((one) => (
            <option key={one.value} value={one.value} disabled={one.disabled} selected={one.value === text}>
              {one.text}
            </option>
          ))}
        </select>
      )
    case 'pick':
      return <Pick {...given} find={spec.find} shown={spec.shown} />
    case 'files':
      return <Files {...given} upload={spec.upload} />
    case 'number':
      return <input {...given} type="number" min={spec.min} max={spec.max} step={spec.step ?? 1} defaultValue={text} />
    case 'secret':
      return (
        <input {...given} type="password" maxLength={spec.max} autoComplete={spec.autoComplete ?? 'new-password'} />
      )
    default:
      return <TextInput given={given} spec={spec as TextSpec} text={text} />
  }
}

type TextSpec = Extract<Spec, { kind: 'text' }>

function TextInput({ given, spec, text }: { given: object; spec: TextSpec; text: string }) {
  const { kind, max, placeholder, equals } = spec
  return (
    <input
      {...given}
      // Preact types the roles of inputs by their type, which is not known here: text stands for all.
      type={kind as 'text'}
      maxLength={max}
      placeholder={placeholder}
      autoComplete="off"
      dir={kind === 'text' ? 'auto' : undefined}
      defaultValue={text}
      onInput={(event) => {
        const input = event.currentTarget
        if (equals !== undefined) input.setCustomValidity(input.value === equals ? '' : t('form.equals'))
      }}
    />
  )
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? '' : String(value)
}
