/** Sends what is written: ten seconds later, and not over somebody who has written since it was begun. */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { Refusal } from '../api'
import { Cell, useCell } from '../cell'
import { learn } from '../events'
import { go, hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { moment } from '../ui/measures'
import { attempt, tell } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import type { Cursor, TextHandle } from './editing'
import { holdBack, outgoing } from './held-back'
import { nextAfter } from './neighbours'
import type { SentChanges, Writing } from './writing'

export type NextStatus = 'pending' | 'resolved'
/** The changes of the ticket that follow an answer: a status, or those of a macro. */
export type After = {
  status?: NextStatus | undefined
  macro?: { name: string; changes: SentChanges }
  /** When it leaves by itself. Nothing follows it then. */
  at?: string
}
/** The messages that came while an answer was written, and what was to happen with it. */
type Missed = { messages: Message[]; after: After }

/** An answer that was taken back, and where its writer was in it. */
export const reopened = new Cell<{ writing: Writing; cursor: Cursor | undefined } | undefined>(undefined)

/** The messages since a draft was begun that its writer was not shown yet. */
export function missedOf(writing: Writing, { messages }: TicketWithMessages): Message[] {
  const seen = new Set(writing.cell.value.seen)
  return writing.isEmpty ? [] : messages.filter(({ id }) => !seen.has(id))
}

type Ways = {
  is_note: boolean
  /** Tells if the next ticket of the list follows an answer. */
  goesOn: () => boolean
  field: RefObject<TextHandle | undefined>
}

export function useSend(props: ComposerProps, writing: Writing, { is_note, goesOn, field }: Ways) {
  const { api, ticket, route } = props
  const [missed, setMissed] = useState<Missed>()
  const [is_sending, setSending] = useState(false)
  const is_held = useCell(outgoing).has(writing)
  const shows = useIsShown()
  /** @returns true when something came that has to be looked at first */
  const showMissed = (now: TicketWithMessages, after: After) => {
    const messages = missedOf(writing, now)
    if (is_note || messages.length === 0) return false
    writing.see(now.messages)
    setMissed({ messages, after })
    return true
  }
  const deliver = async (after: After) => {
    try {
      await sendWritten(props, writing, after)
      return true
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'DRAFT_STALE') throw error
      const { data: now } = await api.get<TicketWithMessages>(`/tickets/${ticket.id}`)
      if (shows.current && showMissed(now, after)) return false
      throw new Refusal(412, error.code, t('composer.not_sent', { ticket: ticket.code }), {})
    }
  }
  /** Sends at once. @returns false when something came that has to be looked at first */
  const sendAtOnce = async (after: After) => {
    if (showMissed(ticket, after)) return false
    setSending(true)
    try {
      return await deliver(after)
    } finally {
      setSending(false)
      setMissed(undefined)
    }
  }
  /** Sends at its moment, or in ten seconds and goes on to the next ticket, unless something came just now. */
  const send = async (after: After = {}) => {
    if (is_note) return sendAtOnce(after)
    if (showMissed(ticket, after)) return false
    setMissed(undefined)
    if (after.at) return sendAt(props, writing, after.at)
    const cursor = field.current?.cursor()
    if (!(await writing.save())) throw writing.cell.value.fault ?? t('composer.unsaved')
    const hrefTo = (id: string) => hrefOf(api.organization_id, ['tickets', id], route.query)
    const told = { ticket: ticket.code, macro: after.macro?.name ?? '' }
    holdBack(writing, {
      text: t(after.macro ? 'macro.leaves' : 'composer.leaves', told),
      send: async () => void (await attempt(() => deliver(after))),
      reopen() {
        go(hrefTo(ticket.id))
        reopened.value = { writing, cursor }
      },
    })
    const next = nextAfter(ticket.id)
    if (goesOn()) go(next ? hrefTo(next.id) : hrefOf(api.organization_id, ['tickets'], route.query))
    return true
  }
  return { send, is_sending, is_held, missed, setMissed }
}

/** Tells if the composer is still on the page. */
function useIsShown(): RefObject<boolean> {
  const shows = useRef(true)
  useEffect(
    () => () => {
      shows.current = false
    },
    [],
  )
  return shows
}

/** Has the draft sent at a moment. @returns true */
async function sendAt({ ticket, reload }: ComposerProps, writing: Writing, at: string): Promise<true> {
  await writing.sendLater(at)
  tell(t('later.leaves', { ticket: ticket.code, at: moment(at) }))
  await reload()
  return true
}

/** Sends the draft, changes the ticket, and says what followed. */
async function sendWritten({ me, ticket }: ComposerProps, writing: Writing, { status, macro }: After) {
  // A ticket of nobody is taken by an answer.
  const takes = !writing.is_internal && ticket.assignee === null
  const changes = { ...(takes && { assignee_id: me.id }), ...macro?.changes, ...(status && { status }) }
  const message = await writing.send(changes)
  learn('message.created', { ...message, ticket: { id: ticket.id } })
  const words = outcomeOf(message)
  const now = changes.status
  const and_is = now ? t('composer.and_is', { words: words.replace(/\.\s*$/, ''), status: t(`status.${now}`) }) : words
  tell(macro ? `${t('macro.done', { macro: macro.name })} ${and_is}` : and_is)
}

export function outcomeOf({ is_internal, email_status, email_error }: Message): string {
  if (is_internal) return t('composer.note_added')
  if (email_status === 'sent') return t('composer.sent')
  if (email_status === 'queued') return t('composer.queued', { fault: email_error ?? '' })
  if (email_status === 'failed') return t('composer.failed', { fault: email_error ?? t('composer.refused') })
  return t('composer.stored')
}

type WhatCameProps = { missed: Missed; send: () => Promise<unknown>; onClose: () => void }

/** Shows what came while the answer was written. */
export function WhatCame({ missed, send, onClose }: WhatCameProps) {
  return (
    <Dialog title={t('composer.went_on')} onClose={onClose}>
      <p>{t('composer.this_came')}</p>
      <ul>
        {missed.messages.map(({ id, sender, body, is_internal }) => (
          <li key={id} dir="auto">
            <strong>{sender.name}</strong>
            {is_internal && ` (${t('message.note')})`}: {shortened(body)}
          </li>
        ))}
      </ul>
      <p class="buttons">
        {/* The first one has the focus: a key that is pressed twice sends nothing. */}
        <Button kind="main" text={t('composer.look_first')} onClick={onClose} />
        <Action run={send}>{t('composer.send_anyway')}</Action>
      </p>
    </Dialog>
  )
}

const SHOWN_CHARACTERS = 300

function shortened(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} …` : text
}
