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
import { type Mention, Mentioned } from './named-members'
import { Quoted } from './quoted'
import { Recipients } from './recipients'
import { statusOf, useSendDefault, WAYS, type Way } from './send-default'
import { missedOf, reopened, useSend, WhatCame } from './sending'
import { TextField } from './text-field'
import { AttachButton, Files, useUpload } from './uploads'
import { KeptWhy, SendLater, WaitingAnswers } from './waiting-answers'
import type { Writing } from './writing'
import { writingOf } from './writings'
import type { Written } from './written'

/** Answers are followed by the next ticket, unless the person wants to stay. It holds until the page is left. */
let goes_on = true

/** All that is known of what is written, and what can be done with it. */
function useComposer(props: ComposerProps) {
  const { api, ticket } = props
  const kinds = [writingOf(api, ticket.id, false), writingOf(api, ticket.id, true)] as const
  const { is_note, choose, field } = useKind(kinds[0].isEmpty && !kinds[1].isEmpty)
  const writing = kinds[is_note ? 1 : 0]
  const written = useCell(writing.cell)
  const [way, setWay] = useSendDefault(props.me.id)
  const sending = useSend(props, writing, { is_note, goesOn: () => goes_on, field })
  const upload = useUpload(api, writing, ticket.messages)
  const is_locked = sending.is_sending || sending.is_held || written.is_leaving === true
  const fault = limitFault(written)
  const is_off = writing.isEmpty || written.other !== undefined || upload.is_busy || is_locked || fault !== undefined
  const macro = useMacro(props, kinds, choose, sending.send)
  const sendBy = (by: Way) => sending.send({ status: is_note ? undefined : statusOf(by, ticket) })
  const back = useCell(reopened)
  useLayoutEffect(() => {
    if (back?.writing !== kinds[0]) return
    choose(false)
    field.current?.focus(back.cursor)
    reopened.value = undefined
  }, [back])
  const sendUsually = (by = way) => void (is_off || attempt(() => sendBy(by)))
  const sendLater = (at: string) => sending.send({ at })
  const buttons = {
    api,
    is_held: sending.is_held,
    send: sendBy,
    sendLater,
    is_note,
    ticket,
    writing,
    is_off,
    way,
    setWay,
  }
  const mention = (one: Mention) => {
    const { mentions } = writing.cell.value
    writing.write({ mentions: [...mentions.filter(({ id }) => id !== one.id), one] }, ticket.messages)
  }
  return {
    kinds,
    is_note,
    choose,
    field,
    writing,
    written,
    sending,
    upload,
    is_locked,
    fault,
    macro,
    sendUsually,
    mention,
    buttons,
  }
}

export function Composer(props: ComposerProps) {
  const { api, ticket } = props
  const composer = useComposer(props)
  const { kinds, is_note, choose, field, writing, written, sending, upload, is_locked, macro } = composer
  const offers = useDrafts(props, kinds)
  useActs(
    [
      { text: t('composer.reply'), icon: MessageSquareReply, keys: 'r', run: () => choose(false) },
      { text: t('composer.note'), icon: StickyNote, keys: 'n', run: () => choose(true) },
    ],
    t('composer.write'),
  )
  return (
    <>
      <WaitingAnswers {...props} writing={kinds[0]} choose={choose} />
      <Offers {...props} offers={offers} kinds={kinds} choose={choose} />
      <section class={is_note ? 'composer is-note' : 'composer'} aria-label={t('composer.write')}>
        <Kinds is_note={is_note} choose={choose} has_draft={[!kinds[0].isEmpty, !kinds[1].isEmpty]} />
        <KeptWhy draft={props.included.drafts.find(({ id }) => id === written.kept?.id)} />
        {!is_note && <Recipients {...props} writing={writing} is_off={is_locked} />}
        <TextField
          key={String(is_note)}
          handle={field}
          label={t(is_note ? 'composer.note_label' : 'composer.reply')}
          placeholder={hintOf(is_note, props)}
          value={written.text}
          format={written.format}
          is_off={is_locked}
          write={(text, format) => writing.write({ text, format }, ticket.messages)}
          send={composer.sendUsually}
          uploadImage={upload.image}
          attach={upload.files}
          api={api}
          chooseMacro={macro.begin}
          mention={is_note ? composer.mention : undefined}
          tools={<AttachButton upload={upload} is_off={is_locked} />}
        />
        <Files writing={writing} messages={ticket.messages} is_off={is_locked} />
        {!is_note && <Quoted {...props} writing={writing} is_off={is_locked} />}
        <Mentioned writing={writing} messages={ticket.messages} is_off={is_locked} />
        <ChosenMacro {...macro} api={api} is_off={upload.is_busy || is_locked} />
        {composer.fault && (
          <p class="fault" role="alert">
            {composer.fault}
          </p>
        )}
        <Foot {...composer.buttons} />
        {sending.missed && (
          <WhatCame
            missed={sending.missed}
            send={() => sending.send(sending.missed!.after)}
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

function hintOf(is_note: boolean, { included }: ComposerProps): string {
  const [to] = included.recipients.to
  return is_note ? t('composer.note_hint') : t('composer.reply_to', { email: to?.email ?? t('ticket.nobody') })
}

/** As much as the service takes. */
const MOST_CHARACTERS = 1_000_000
const MOST_FILES = 50

/** Why what is written cannot be sent, before it is tried. */
function limitFault({ text, files }: Written): string | undefined {
  if (text.length > MOST_CHARACTERS) return t('composer.too_long', { count: MOST_CHARACTERS })
  return files.length > MOST_FILES ? t('composer.too_many_files', { count: MOST_FILES }) : undefined
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

type SendButtonsProps = Pick<ComposerProps, 'api' | 'ticket'> & {
  is_note: boolean
  send: (way: Way) => Promise<unknown>
  sendLater: (at: string) => Promise<unknown>
  is_off: boolean
  /** The usual way of the person. */
  way: Way
  setWay: (way: Way) => void
}

const SEND_WORDS = {
  open: 'composer.send',
  pending: 'composer.send_pending',
  resolved: 'composer.send_resolved',
} as const

function SendButtons({ api, is_note, ticket, send, sendLater, is_off, way, setWay }: SendButtonsProps) {
  const [stays, setStays] = useState(!goes_on)
  const others = WAYS.filter((one) => one === 'open' || statusOf(one, ticket))
  const usual = others.includes(way) ? way : 'open'
  const second = others.toReversed().find((one) => one !== usual)
  const textOf = (one: Way) => t(one === 'open' && usual !== 'open' ? 'composer.send_open' : SEND_WORDS[one])
  const toggle = () => {
    goes_on = stays
    setStays(!stays)
  }
  useActs([{ text: t(stays ? 'composer.go_on' : 'composer.stay'), run: toggle }], t('composer.write'))
  return (
    <p class="buttons">
      <Action kind="main" icon={is_note ? undefined : Send} run={() => send(usual)} disabled={is_off}>
        {is_note ? t('composer.add_note') : textOf(usual)}
      </Action>
      {!is_note && second && (
        <Action run={() => send(second)} disabled={is_off}>
          {textOf(second)}
        </Action>
      )}
      {!is_note && <SendLater api={api} is_off={is_off} send={sendLater} />}
      {!is_note && (
        <Menu
          label={t('composer.more')}
          button={<Icon of={ChevronDown} />}
          items={[
            ...others
              .filter((one) => !is_off && one !== usual && one !== second)
              .map((one) => ({ text: textOf(one), icon: STATUS_ICONS[one], run: () => send(one) })),
            { text: t('composer.then_next'), icon: ListVideo, is_chosen: !stays, run: toggle },
            { text: t('composer.then_stay'), icon: Pin, is_chosen: stays, run: toggle },
            ...WAYS.map((one) => ({
              text: t(`composer.usual_${one}`),
              icon: STATUS_ICONS[one],
              is_chosen: one === way,
              run: () => setWay(one),
            })),
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
