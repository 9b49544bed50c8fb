/** Writes answers and notes: one reply and one note of the person in each ticket, which the service keeps as drafts. */
import { ChevronDown, ListVideo, MessageSquareReply, Pin, Send, StickyNote } from 'lucide'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useActs } from '../acts'
import { useCell } from '../cell'
import { Action, Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { STATUS_ICONS } from '../ui/marks'
import { Menu } from '../ui/menus'
import { attempt } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { DraftState, Offers, useDrafts } from './drafts'
import type { TextHandle } from './editing'
import { takeBack } from './held-back'
import { ChosenMacro, useMacro } from './macros'
import { Recipients } from './recipients'
import { missedOf, type NextStatus, useSend, WhatCame } from './sending'
import { TextField } from './text-field'
import { AttachButton, Files, useUpload } from './uploads'
import type { Writing } from './writing'
import { writingOf } from './writings'

/** Answers are followed by the next ticket, unless the person wants to stay. It holds until the page is left. */
let goes_on = true

export function Composer(props: ComposerProps) {
  const { api, ticket } = props
  const kinds = [writingOf(api, ticket.id, false), writingOf(api, ticket.id, true)] as const
  const { is_note, choose, field } = useKind(kinds[0].isEmpty && !kinds[1].isEmpty)
  const writing = kinds[is_note ? 1 : 0]
  const written = useCell(writing.cell)
  const drafts = useDrafts(props, kinds)
  const sending = useSend(props, writing, is_note, () => goes_on)
  const upload = useUpload(api, writing, ticket.messages)
  const is_locked = sending.is_sending || sending.is_held
  const is_off = writing.isEmpty || written.other !== undefined || upload.is_busy || is_locked
  const macro = useMacro(props, kinds, choose, sending.sendAtOnce)
  const send = (status?: NextStatus) => void (is_off || attempt(() => sending.send(status)))
  useActs([
    { text: t('composer.reply'), icon: MessageSquareReply, keys: 'r', run: () => choose(false) },
    { text: t('composer.note'), icon: StickyNote, keys: 'n', run: () => choose(true) },
  ])
  return (
    <>
      <Offers {...props} offers={drafts.offers} reload={drafts.reload} kinds={kinds} choose={choose} />
      <section class={is_note ? 'composer is-note' : 'composer'} aria-label={t('composer.write')}>
        <div class="line">
          <Kinds is_note={is_note} choose={choose} has_draft={[!kinds[0].isEmpty, !kinds[1].isEmpty]} />
          {!is_note && <Recipients {...props} writing={writing} is_off={is_locked} />}
        </div>
        <TextField
          key={String(is_note)}
          handle={field}
          label={t(is_note ? 'composer.note_label' : 'composer.reply')}
          placeholder={hintOf(is_note, ticket)}
          value={written.text}
          is_off={is_locked}
          write={(text) => writing.write({ text }, ticket.messages)}
          send={send}
          uploadImage={upload.image}
          attach={upload.files}
          macros={props.names.macros}
          chooseMacro={macro.begin}
          tools={<AttachButton upload={upload} is_off={is_locked} />}
        />
        <Files writing={writing} messages={ticket.messages} is_off={is_locked} />
        <ChosenMacro {...macro} names={props.names} is_off={upload.is_busy || is_locked} />
        <Foot {...sending} is_note={is_note} ticket={ticket} writing={writing} is_off={is_off} />
        {sending.missed && (
          <WhatCame
            missed={sending.missed}
            send={() => sending.send(sending.missed!.status)}
            onClose={() => sending.setMissed(undefined)}
          />
        )}
      </section>
    </>
  )
}

/** Which kind is written, and the field for it, which gets the focus when a kind is chosen. */
function useKind(begins_with_note: boolean) {
  const [is_note, setNote] = useState(begins_with_note)
  const field = useRef<TextHandle | undefined>(undefined)
  const wants_focus = useRef(false)
  const choose = (to_note: boolean) => {
    setNote(to_note)
    field.current?.focus()
    wants_focus.current = to_note !== is_note
  }
  useLayoutEffect(() => {
    if (wants_focus.current) field.current?.focus()
    wants_focus.current = false
  }, [is_note])
  return { is_note, choose, field }
}

function hintOf(is_note: boolean, { contact }: ComposerProps['ticket']): string {
  return is_note ? t('composer.note_hint') : t('composer.reply_to', { email: contact?.email ?? t('ticket.nobody') })
}

type FootProps = SendButtonsProps & { writing: Writing; is_held: boolean }

/** The buttons that send, and how the draft is kept. */
function Foot({ writing, is_held, ...buttons }: FootProps) {
  const { is_note, ticket } = buttons
  return (
    <div class="line foot">
      {is_held ? <Held takeBack={() => takeBack(writing)} /> : <SendButtons {...buttons} />}
      <span class="grow" />
      <DraftState
        writing={writing}
        missed={is_note ? 0 : missedOf(writing, ticket).length}
        messages={ticket.messages}
      />
    </div>
  )
}

function Held({ takeBack }: { takeBack: () => void }) {
  return (
    <p class="buttons">
      <span class="hint">{t('composer.held')}</span>
      <Button text={t('ui.undo')} onClick={takeBack} />
    </p>
  )
}

type SendButtonsProps = Pick<ComposerProps, 'ticket'> & {
  is_note: boolean
  send: (status?: NextStatus) => Promise<unknown>
  is_off: boolean
}

function SendButtons({ is_note, ticket, send, is_off }: SendButtonsProps) {
  const [stays, setStays] = useState(!goes_on)
  const is_active = ticket.status === 'open' || ticket.status === 'pending'
  const toggle = () => {
    goes_on = stays
    setStays(!stays)
  }
  useActs([{ text: t(stays ? 'composer.go_on' : 'composer.stay'), run: toggle }])
  return (
    <p class="buttons">
      <Action kind="main" icon={is_note ? undefined : Send} run={() => send()} disabled={is_off}>
        {t(is_note ? 'composer.add_note' : 'composer.send')}
      </Action>
      {!is_note && is_active && (
        <Action run={() => send('resolved')} disabled={is_off}>
          {t('composer.send_resolved')}
        </Action>
      )}
      {!is_note && (
        <Menu
          label={t('composer.more')}
          button={<Icon of={ChevronDown} />}
          items={[
            ...(ticket.status === 'open' && !is_off
              ? [{ text: t('composer.send_pending'), icon: STATUS_ICONS.pending, run: () => send('pending') }]
              : []),
            { text: t('composer.then_next'), icon: ListVideo, is_chosen: !stays, run: toggle },
            { text: t('composer.then_stay'), icon: Pin, is_chosen: stays, run: toggle },
          ]}
        />
      )}
    </p>
  )
}

type KindsProps = {
  is_note: boolean
  choose: (is_note: boolean) => void
  /** The texts of the reply and of the note. */
  has_draft: [boolean, boolean]
}

function Kinds({ is_note, choose, has_draft }: KindsProps) {
  return (
    <fieldset class="tabs">
      <legend class="unseen">{t('composer.kind')}</legend>
      <button type="button" aria-pressed={!is_note} onClick={() => choose(false)}>
        {t(is_note && has_draft[0] ? 'composer.reply_draft' : 'composer.reply')}
      </button>
      <button type="button" aria-pressed={is_note} onClick={() => choose(true)}>
        {t(!is_note && has_draft[1] ? 'composer.note_draft' : 'composer.note')}
      </button>
    </fieldset>
  )
}
