/** Shows the addresses of the answer, as the service tells them, and takes other copies instead. */
import { ChevronDown, X } from 'lucide'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useCell } from '../cell'
import { Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Picker } from '../ui/menus'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { useMailboxes } from './choices'
import type { Writing } from './writing'

/** As many copies as the service takes. */
const MOST = 20
/** An address, roughly: the service alone knows. */
const ADDRESS = /^[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]+$/

type Props = ComposerProps & { writing: Writing; is_off: boolean }
type Addressee = { name: string | null; email: string; left_out?: true | undefined }

export function Recipients(props: Props) {
  const { ticket, included, writing, is_off } = props
  const { cc } = useCell(writing.cell)
  const { from, to, cc: usual } = included.recipients
  const copies: Addressee[] =
    cc?.map((email) => usual.find((one) => one.email === email) ?? { name: null, email }) ?? usual
  const put = (emails: string[] | null) => writing.write({ cc: emails }, ticket.messages)
  return (
    <div class="recipients">
      <Line label={t('composer.from')}>
        {from ? <Chip {...from} /> : <span class="fault">{t('composer.from_nobody')}</span>}
        {!is_off && <OtherMailbox {...props} />}
      </Line>
      <Line label={t('composer.to')}>
        {to.map((one) => (
          <Chip key={one.email} {...one} />
        ))}
        {to.length === 0 && <span class="fault">{t('composer.to_nobody')}</span>}
      </Line>
      <Line label={t('composer.cc')}>
        {copies.map((one) => (
          <Chip
            key={one.email}
            {...one}
            remove={is_off ? undefined : () => put(copies.flatMap(({ email }) => (email === one.email ? [] : [email])))}
          />
        ))}
        <Adding
          is_off={is_off}
          add={(emails) => {
            const all = [...new Set([...copies.map(({ email }) => email), ...emails])]
            if (all.length > MOST) return t('composer.cc_most', { count: MOST })
            put(all)
            return undefined
          }}
        />
        {cc && !is_off && <Button kind="bare" text={t('composer.cc_participants')} onClick={() => put(null)} />}
      </Line>
    </div>
  )
}

/** Chooses the mailbox that answers of the ticket leave from. */
function OtherMailbox({ api, ticket, change, reload }: ComposerProps) {
  const choose = async (id: string) => {
    if (await change({ mailbox_id: id || null })) await reload()
  }
  return (
    <Picker
      label={t('composer.from_other')}
      button={<Icon of={ChevronDown} />}
      act={{ text: t('composer.from_other'), group: t('ticket.ticket') }}
      useOptions={() => useMailboxes(api, ticket.mailbox)}
      onChoose={choose}
    />
  )
}

function Line({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <p class="line">
      <span class="kind">{label}</span>
      {children}
    </p>
  )
}

/** An address, with the name that belongs to it. */
function Chip({ name, email, left_out, remove }: Addressee & { remove?: (() => void) | undefined }) {
  return (
    <span class="chip" title={name ? `${name} <${email}>` : email}>
      <bdi class="cut">{email}</bdi>
      {left_out && <small>{t('composer.left_out')}</small>}
      {remove && <Button kind="bare" icon={X} label={t('composer.remove_cc', { email })} onClick={remove} />}
    </span>
  )
}

/** The field for more addresses. What is no address is said at it, and stays. @param add returns why it cannot be */
function Adding({ is_off, add }: { is_off: boolean; add: (emails: string[]) => string | undefined }) {
  const [typed, setTyped] = useState('')
  const [fault, setFault] = useState<string>()
  const take = () => {
    const all = typed.split(/[\s,;]+/).filter(Boolean)
    const wrong = all.find((one) => !ADDRESS.test(one))
    const why = wrong ? t('composer.no_address', { email: wrong }) : all.length > 0 ? add(all) : undefined
    setFault(why)
    if (!why) setTyped('')
  }
  return (
    <>
      <input
        aria-label={t('composer.cc')}
        aria-invalid={fault ? 'true' : undefined}
        value={typed}
        readOnly={is_off}
        placeholder={t('composer.cc_hint')}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (!['Enter', ',', ';'].includes(event.key) || event.ctrlKey || event.metaKey || !typed.trim()) return
          event.preventDefault()
          take()
        }}
      />
      {fault && (
        <small class="fault" role="alert">
          {fault}
        </small>
      )}
    </>
  )
}
