/** Writes answers and notes: one reply and one note of the person in each ticket, which the service keeps as drafts. */
import { useRef, useState } from 'preact/hooks'
import type { Attachment } from '../../../desk/attachments/model'
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { Refusal } from '../api'
import { useCell } from '../cell'
import { Action, attempt, Button, bytes, Dialog, tell } from '../ui'
import type { ComposerProps } from '../view-types'
import { DraftState, Offers, useDrafts } from './drafts'
import { MacroBar, useMacro } from './macros'
import type { Writing } from './writing'
import { writingOf } from './writings'

/** What came while an answer was written, and what was to happen with it. */
type Missed = { messages: Message[]; status?: Status }
type Status = 'pending' | 'resolved'

export function Composer(props: ComposerProps) {
  const { api, ticket } = props
  const kinds = [writingOf(api, ticket.id, false), writingOf(api, ticket.id, true)] as const
  const [is_note, setNote] = useState(() => kinds[0].isEmpty && !kinds[1].isEmpty)
  const writing = kinds[is_note ? 1 : 0]
  const written = useCell(writing.cell)
  const drafts = useDrafts(props, kinds)
  const area = useRef<HTMLTextAreaElement>(null)
  const { send, is_sending, missed, setMissed } = useSend(props, writing, is_note, drafts.reload)
  const [is_uploading, setUploading] = useState(false)
  const is_off = writing.isEmpty || written.other !== undefined || is_uploading || is_sending
  const choose = (is_note: boolean) => {
    setNote(is_note)
    area.current?.focus()
  }
  const macro = useMacro(props, kinds, choose, send)
  return (
    <>
      <Offers {...props} offers={drafts.offers} reload={drafts.reload} kinds={kinds} choose={choose} />
      <section class={is_note ? 'composer is-note' : 'composer'} aria-label="Write">
        <Kinds is_note={is_note} choose={choose} has_draft={[!kinds[0].isEmpty, !kinds[1].isEmpty]} />
        <label>
          <span class="unseen">{is_note ? 'Note for the team' : 'Reply'}</span>
          <textarea
            ref={area}
            rows={6}
            value={written.text}
            readOnly={is_sending}
            placeholder={is_note ? 'Only the team sees this' : `Reply to ${ticket.contact?.email ?? 'nobody'}`}
            onInput={(event) => writing.write({ text: (event.target as HTMLTextAreaElement).value }, ticket.messages)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !is_off) void attempt(() => send())
            }}
          />
        </label>
        <DraftState
          writing={writing}
          missed={is_note ? 0 : missedOf(writing, ticket).length}
          messages={ticket.messages}
        />
        <Files
          {...props}
          writing={writing}
          is_uploading={is_uploading}
          setUploading={setUploading}
          is_off={is_sending}
        />
        <MacroBar {...macro} names={props.names} is_off={is_uploading || is_sending} />
        <SendButtons is_note={is_note} ticket={ticket} send={send} is_off={is_off} />
        {missed && <WhatCame missed={missed} send={() => send(missed.status)} onClose={() => setMissed(undefined)} />}
      </section>
    </>
  )
}

type SendButtonsProps = Pick<ComposerProps, 'ticket'> & {
  is_note: boolean
  send: (status?: Status) => Promise<unknown>
  is_off: boolean
}

function SendButtons({ is_note, ticket, send, is_off }: SendButtonsProps) {
  return (
    <p class="buttons">
      <Action kind="main" run={() => send()} disabled={is_off}>
        {is_note ? 'Add the note' : 'Send'}
      </Action>
      {!is_note && ticket.status === 'open' && (
        <Action run={() => send('pending')} disabled={is_off}>
          Send and wait
        </Action>
      )}
      {!is_note && ['open', 'pending'].includes(ticket.status) && (
        <Action run={() => send('resolved')} disabled={is_off}>
          Send and resolve
        </Action>
      )}
    </p>
  )
}

/** What came since a draft was begun, that its writer was not shown yet. */
function missedOf(writing: Writing, { messages }: TicketWithMessages): Message[] {
  const { seen } = writing.cell.value
  return writing.isEmpty ? [] : messages.filter(({ id }) => !seen.includes(id))
}

/** Sends what is written, once at a time, unless somebody else has written since it was begun. */
function useSend(
  { api, ticket, reload, change }: ComposerProps,
  writing: Writing,
  is_note: boolean,
  reloadDrafts: () => Promise<void>,
) {
  const [missed, setMissed] = useState<Missed>()
  const [is_sending, setSending] = useState(false)
  /** @returns true when something came that has to be looked at first */
  const showMissed = (now: TicketWithMessages, status: Status | undefined) => {
    const messages = missedOf(writing, now)
    if (is_note || messages.length === 0) return false
    writing.see(now.messages)
    setMissed({ messages, status })
    return true
  }
  const sendNow = async (status: Status | undefined) => {
    if (showMissed(ticket, status)) return false
    const message = await writing.send().catch(async (error: unknown) => {
      if (!(error instanceof Refusal) || error.code !== 'DRAFT_STALE') throw error
      const { data: now } = await api.get<TicketWithMessages>(`/tickets/${ticket.id}`)
      await reload()
      if (showMissed(now, status)) return undefined
      writing.see(now.messages)
      throw error
    })
    if (!message) return false
    setMissed(undefined)
    const words = outcomeOf(message)
    tell(words)
    await Promise.all([reload(), reloadDrafts()])
    if (status && (await change({ status }))) tell(`${words.replace(/\.$/, '')}, and the ticket is ${status}.`)
    return true
  }
  /** @returns false when something came that has to be looked at first */
  const send = async (status?: Status) => {
    setSending(true)
    try {
      return await sendNow(status)
    } finally {
      setSending(false)
    }
  }
  return { send, is_sending, missed, setMissed }
}

type KindsProps = {
  is_note: boolean
  choose: (is_note: boolean) => void
  /** Of the reply, and of the note. */
  has_draft: [boolean, boolean]
}

function Kinds({ is_note, choose, has_draft }: KindsProps) {
  return (
    <fieldset class="tabs">
      <legend class="unseen">Kind of message</legend>
      <button id="write-reply" type="button" aria-pressed={!is_note} onClick={() => choose(false)}>
        Reply{is_note && has_draft[0] && ' (draft)'}
      </button>
      <button id="write-note" type="button" aria-pressed={is_note} onClick={() => choose(true)}>
        Internal note{!is_note && has_draft[1] && ' (draft)'}
      </button>
    </fieldset>
  )
}

/** Shows what came while the answer was written. */
function WhatCame({ missed, send, onClose }: { missed: Missed; send: () => Promise<unknown>; onClose: () => void }) {
  return (
    <Dialog title="The conversation went on" onClose={onClose}>
      <p>While you wrote, this came:</p>
      <ul>
        {missed.messages.map(({ id, sender, body, is_internal }) => (
          <li key={id}>
            <strong>{sender.name}</strong>
            {is_internal && ' (internal note)'}: {shortened(body)}
          </li>
        ))}
      </ul>
      <p class="buttons">
        <Action kind="main" run={send}>
          Send anyway
        </Action>
        <Button text="Look at it first" onClick={onClose} />
      </p>
    </Dialog>
  )
}

type FilesProps = ComposerProps & {
  writing: Writing
  is_uploading: boolean
  setUploading: (is_uploading: boolean) => void
  is_off: boolean
}

function Files({ api, ticket, writing, is_uploading, setUploading, is_off }: FilesProps) {
  const { files } = useCell(writing.cell)
  const set = (files: Attachment[]) => writing.write({ files }, ticket.messages)
  const upload = async (list: FileList | null) => {
    setUploading(true)
    await attempt(async () => {
      for (const file of list ?? []) {
        const content = new FormData()
        content.append('file', file)
        const { data } = await api.post<Attachment>('/attachments', undefined, { raw: { content } })
        set([...writing.cell.value.files, data])
      }
    })
    setUploading(false)
  }
  return (
    <div class="files">
      <label class="attach">
        <span>{is_uploading ? 'Uploading …' : 'Attach files'}</span>
        <input
          type="file"
          multiple
          disabled={is_uploading || is_off}
          onChange={async (event) => {
            const input = event.target as HTMLInputElement
            await upload(input.files)
            input.value = ''
          }}
        />
      </label>
      {files.map(({ id, filename, size }) => (
        <span key={id} class="removable">
          {filename} <small>{bytes(size)}</small>
          <Button text="×" label={`Remove ${filename}`} onClick={() => set(files.filter((file) => file.id !== id))} />
        </span>
      ))}
    </div>
  )
}

function outcomeOf({ is_internal, email_status, email_error }: Message): string {
  if (is_internal) return 'The note is added.'
  if (email_status === 'sent') return 'The answer is sent.'
  if (email_status === 'queued')
    return `The answer is stored, and sent as soon as the mail server takes it. ${email_error ?? ''}`
  if (email_status === 'failed')
    return `The answer is stored, but was not sent: ${email_error ?? 'the mail server refused it'}`
  return 'The answer is stored. No email was sent: there is no mailbox that can send, or no contact.'
}

const SHOWN_CHARACTERS = 300

function shortened(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} …` : text
}
