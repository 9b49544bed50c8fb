/** Sends what is written: ten seconds later, and not over somebody who has written since it was begun. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Message } from '../../../desk/messages/model'
import type { Ticket, TicketWithMessages } from '../../../desk/tickets/model'
import { Refusal } from '../api'
import { useCell } from '../cell'
import { go, hrefOf } from '../route'
import { Action, Button } from '../ui/buttons'
import { Dialog } from '../ui/dialogs'
import { attempt, tell } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { holdBack, outgoing } from './held-back'
import { look } from './looked'
import { nextAfter } from './neighbours'
import type { Writing } from './writing'

export type NextStatus = 'pending' | 'resolved'
/** The messages that came while an answer was written, and what was to happen with it. */
type Missed = { messages: Message[]; status?: NextStatus }

/** The messages since a draft was begun that its writer was not shown yet. */
export function missedOf(writing: Writing, { messages }: TicketWithMessages): Message[] {
  const seen = new Set(writing.cell.value.seen)
  return writing.isEmpty ? [] : messages.filter(({ id }) => !seen.has(id))
}

/** @param goes_on whether the next ticket of the list follows an answer */
export function useSend(props: ComposerProps, writing: Writing, is_note: boolean, goes_on: () => boolean) {
  const { api, ticket, route } = props
  const [missed, setMissed] = useState<Missed>()
  const [is_sending, setSending] = useState(false)
  const is_held = useCell(outgoing).has(writing)
  const shows = useRef(true)
  useEffect(
    () => () => {
      shows.current = false
    },
    [],
  )
  /** @returns true when something came that has to be looked at first */
  const showMissed = (now: TicketWithMessages, status: NextStatus | undefined) => {
    const messages = missedOf(writing, now)
    if (is_note || messages.length === 0) return false
    writing.see(now.messages)
    setMissed({ messages, status })
    return true
  }
  const deliver = async (status: NextStatus | undefined) => {
    try {
      await sendWritten(props, writing, status)
      return true
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'DRAFT_STALE') throw error
      const { data: now } = await api.get<TicketWithMessages>(`/tickets/${ticket.id}`)
      if (shows.current && showMissed(now, status)) return false
      throw new Refusal(412, error.code, t('composer.not_sent', { ticket: ticket.code }), {})
    }
  }
  /** Sends at once. @returns false when something came that has to be looked at first */
  const sendAtOnce = async (status?: NextStatus) => {
    if (showMissed(ticket, status)) return false
    setSending(true)
    try {
      return await deliver(status)
    } finally {
      setSending(false)
      setMissed(undefined)
    }
  }
  /** Sends in ten seconds, unless something came just now, and goes on to the next ticket. */
  const send = async (status?: NextStatus) => {
    if (is_note) return sendAtOnce(status)
    if (showMissed(ticket, status)) return false
    setMissed(undefined)
    if (!(await writing.save())) throw writing.cell.value.fault ?? t('composer.unsaved')
    const { data: now } = await api.get<TicketWithMessages>(`/tickets/${ticket.id}`)
    if (showMissed(now, status)) {
      await props.reload()
      return false
    }
    holdBack(writing, ticket.code, async () => void (await attempt(() => deliver(status))))
    const next = nextAfter(ticket.id)
    if (goes_on()) go(hrefOf(api.organization_id, next ? ['tickets', next.id] : ['tickets'], route.query))
    return true
  }
  return { send, sendAtOnce, is_sending, is_held, missed, setMissed }
}

/** Sends the draft, changes the status, and says what followed. */
async function sendWritten({ api, ticket, reload }: ComposerProps, writing: Writing, status: NextStatus | undefined) {
  const message = await writing.send()
  const words = outcomeOf(message)
  const changed = status && (await api.patch<Ticket>(`/tickets/${ticket.id}`, { status })).data
  // The person may have gone on to another ticket: what is one's own is no news.
  look({ id: ticket.id, updated_at: changed?.updated_at ?? message.created_at })
  await reload()
  tell(status ? t('composer.and_is', { words: words.replace(/\.\s*$/, ''), status: t(`status.${status}`) }) : words)
}

function outcomeOf({ is_internal, email_status, email_error }: Message): string {
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
        <Action kind="main" run={send}>
          {t('composer.send_anyway')}
        </Action>
        <Button text={t('composer.look_first')} onClick={onClose} />
      </p>
    </Dialog>
  )
}

const SHOWN_CHARACTERS = 300

function shortened(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} …` : text
}
