/** Shows the members that a note names, below it, and offers others behind an `@`. */
import { X } from 'lucide'
import type { Message } from '../../../desk/messages/model'
import type { Api } from '../api'
import { useCell } from '../cell'
import { useNames } from '../names'
import { Button } from '../ui/buttons'
import type { Option } from '../ui/combobox'
import { t } from '../words/catalogue'
import type { Writing } from './writing'

export type Mention = Message['mentions'][number]

/** The active members as options, whose values are their ids. */
export function useMembers(api: Api): Option[] | undefined {
  const members = useNames(api, 'users')?.filter(({ active }) => active)
  return members?.map(({ id, name, email }) => ({ value: id, text: name, words: email, hint: email }))
}

type Props = { writing: Writing; messages: Message[]; is_off: boolean }

export function Mentioned({ writing, messages, is_off }: Props) {
  const { mentions } = useCell(writing.cell)
  if (mentions.length === 0) return null
  const remove = (id: string) => writing.write({ mentions: mentions.filter((one) => one.id !== id) }, messages)
  return (
    <div class="files">
      <small>{t('composer.tells')}</small>
      {mentions.map(({ id, name }) => (
        <span key={id} class="removable file">
          <bdi>{name}</bdi>
          <Button
            kind="bare"
            icon={X}
            label={t('composer.tells_not', { name })}
            disabled={is_off}
            onClick={() => remove(id)}
          />
        </span>
      ))}
    </div>
  )
}
