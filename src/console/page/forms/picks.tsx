/** Several things of the API, each searched for and added to a list. */
import { useEffect, useId, useState } from 'preact/hooks'
import { Button } from '../ui/buttons'
import { attempt } from '../ui/toasts'
import { t } from '../words/catalogue'
import { Pick } from './pick'
import type { Find } from './spec'

type Props = {
  label: string
  find: Find
  /** The words for an id that was chosen before. */
  nameOf?: (id: string) => Promise<string>
  chosen: string[]
  onChange: (ids: string[]) => void
}

export function Picks({ label, find, nameOf, chosen, onChange }: Props) {
  const id = useId()
  const [names, setNames] = useState<Record<string, string>>({})
  useEffect(() => {
    const unknown = chosen.filter((one) => !names[one])
    if (!nameOf || unknown.length === 0) return
    void attempt(async () => {
      const found = await Promise.all(unknown.map(async (one) => [one, await nameOf(one)] as const))
      setNames((before) => ({ ...before, ...Object.fromEntries(found) }))
    })
  }, [chosen.join()])
  const others: Find = async (words) => (await find(words)).filter(({ value }) => !chosen.includes(value))
  return (
    <>
      <ul class="chosen" aria-label={t('form.chosen', { label })}>
        {chosen.map((one) => (
          <li key={one} class="line">
            <span dir="auto">{names[one] ?? '…'}</span>
            <Button
              text={t('act.remove')}
              label={t('act.remove_what', { name: names[one] ?? one })}
              onClick={() => onChange(chosen.filter((other) => other !== one))}
            />
          </li>
        ))}
      </ul>
      <label class="unseen" for={id}>
        {label}
      </label>
      <Pick
        key={chosen.length}
        id={id}
        find={others}
        onChoose={({ value, text }) => {
          setNames((before) => ({ ...before, [value]: text }))
          onChange([...chosen, value])
        }}
      />
    </>
  )
}
