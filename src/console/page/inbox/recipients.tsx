/** Shows who gets copies of the answer: the participants, unless others are named. */
import { useState } from 'preact/hooks'
import type { Participant } from '../../../desk/participants/model'
import { useCell } from '../cell'
import { attempt } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import type { Writing } from './writing'

export function Recipients({ api, ticket, writing, is_off }: ComposerProps & { writing: Writing; is_off: boolean }) {
  const { cc } = useCell(writing.cell)
  const [typed, setTyped] = useState<string>()
  const begin = () =>
    attempt(async () => {
      const { data } = await api.get<Participant[]>(`/tickets/${ticket.id}/participants?per_page=100`)
      const confirmed = data.filter(({ confirmed }) => confirmed).map(({ email }) => email)
      setTyped((cc ?? confirmed).join(', '))
    })
  const take = (text: string) => {
    setTyped(text)
    writing.write({ cc: text.split(/[\s,;]+/).filter(Boolean) }, ticket.messages)
  }
  if (typed === undefined && !cc) {
    return (
      <button type="button" class="bare" disabled={is_off} onClick={() => void begin()}>
        {t('composer.cc')}
      </button>
    )
  }
  return (
    <label class="copies">
      <span>{t('composer.cc')}</span>
      <input
        value={typed ?? cc!.join(', ')}
        readOnly={is_off}
        placeholder={t('composer.cc_hint')}
        onInput={(event) => take((event.target as HTMLInputElement).value)}
      />
      <button
        type="button"
        class="bare"
        onClick={() => {
          setTyped(undefined)
          writing.write({ cc: null }, ticket.messages)
        }}
      >
        {t('composer.cc_participants')}
      </button>
    </label>
  )
}
