/** Writes answers and notes. A draft stays while the page is open, also when the session ends. */
import { useRef, useState } from 'preact/hooks'
import type { Attachment } from '../../../desk/attachments/model'
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { randomId } from '../api'
import { Cell, useCell } from '../cell'
import { signIn } from '../sign-in'
import { Action, attempt, Button, bytes, Dialog, tell } from '../ui'
import type { Change, View } from '../view-types'

type Draft = {
  is_note: boolean
  text: string
  files: Attachment[]
  /** Messages that were there when the draft was begun, and those that came later and were shown. */
  seen: string[]
  /** Idempotency-Key of what is written now, once it was sent: sending it again after an error does nothing twice. */
  key?: string
}

const EMPTY: Draft = { is_note: false, text: '', files: [], seen: [] }

/** Drafts by ticket. Who signs in after somebody else gets none of theirs. */
const drafts = new Map<string, Cell<Draft>>()
signIn.listen(() => {
  if (signIn.value.state === 'none') drafts.clear()
})

function draftOf(ticket_id: string): Cell<Draft> {
  const draft = drafts.get(ticket_id) ?? new Cell(EMPTY)
  drafts.set(ticket_id, draft)
  return draft
}

type Props = View & { ticket: TicketWithMessages; change: Change; reload: () => Promise<void> }

/** What came while a draft was written, and what was to happen with it. */
type Missed = { messages: Message[]; status?: Status }
type Status = 'pending' | 'resolved'

export function Composer(props: Props) {
  const { ticket } = props
  const cell = draftOf(ticket.id)
  const draft = useCell(cell)
  const area = useRef<HTMLTextAreaElement>(null)
  const { send, is_sending, missed, setMissed } = useSend(props, cell)
  const [is_uploading, setUploading] = useState(false)
  const is_off = isEmpty(draft) || is_uploading || is_sending
  const set = (part: Partial<Draft>) => {
    const seen = isEmpty(cell.value) ? idsOf(ticket.messages) : cell.value.seen
    cell.value = { ...cell.value, key: undefined, seen, ...part }
  }
  const choose = (is_note: boolean) => {
    set({ is_note })
    area.current?.focus()
  }
  return (
    <section class={draft.is_note ? 'composer is-note' : 'composer'} aria-label="Write">
      <Kinds is_note={draft.is_note} choose={choose} />
      <label>
        <span class="unseen">{draft.is_note ? 'Note for the team' : 'Reply'}</span>
        <textarea
          ref={area}
          rows={6}
          value={draft.text}
          readOnly={is_sending}
          placeholder={draft.is_note ? 'Only the team sees this' : `Reply to ${ticket.contact?.email ?? 'nobody'}`}
          onInput={(event) => set({ text: (event.target as HTMLTextAreaElement).value })}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !is_off) void attempt(() => send())
          }}
        />
      </label>
      <Files {...props} cell={cell} set={set} is_uploading={is_uploading} setUploading={setUploading} />
      <p class="buttons">
        <Action kind="main" run={() => send()} disabled={is_off}>
          {draft.is_note ? 'Add the note' : 'Send'}
        </Action>
        {!draft.is_note && ticket.status === 'open' && (
          <Action run={() => send('pending')} disabled={is_off}>
            Send and wait
          </Action>
        )}
        {!draft.is_note && ['open', 'pending'].includes(ticket.status) && (
          <Action run={() => send('resolved')} disabled={is_off}>
            Send and resolve
          </Action>
        )}
      </p>
      {missed && <WhatCame missed={missed} send={() => send(missed.status)} onClose={() => setMissed(undefined)} />}
    </section>
  )
}

function idsOf(messages: Message[]): string[] {
  return messages.map(({ id }) => id)
}

function isEmpty({ text, files }: Draft): boolean {
  return !text.trim() && files.length === 0
}

/** Sends the draft, once at a time, unless somebody else has written since it was begun. */
function useSend({ api, ticket, reload, change }: Props, cell: Cell<Draft>) {
  const [missed, setMissed] = useState<Missed>()
  const [is_sending, setSending] = useState(false)
  const sendNow = async (status: Status | undefined) => {
    const { is_note, text, files, seen } = cell.value
    const { data: now } = await api.get<TicketWithMessages>(`/tickets/${ticket.id}`)
    const messages = now.messages.filter(({ id }) => !seen.includes(id))
    if (!is_note && messages.length > 0) {
      cell.value = { ...cell.value, seen: idsOf(now.messages) }
      await reload()
      return setMissed({ messages, status })
    }
    const key = cell.value.key ?? randomId()
    cell.value = { ...cell.value, key }
    const message = {
      body: text.trim() || 'See the attachment.',
      is_internal: is_note,
      attachment_ids: files.map(({ id }) => id),
    }
    const headers = { 'idempotency-key': key }
    const { data } = await api.post<Message>(`/tickets/${ticket.id}/messages`, message, { headers })
    setMissed(undefined)
    cell.value = { ...EMPTY, is_note }
    const words = outcomeOf(data)
    tell(words)
    await reload()
    if (status && (await change({ status }))) tell(`${words.replace(/\.$/, '')}, and the ticket is ${status}.`)
  }
  const send = async (status?: Status) => {
    setSending(true)
    try {
      await sendNow(status)
    } finally {
      setSending(false)
    }
  }
  return { send, is_sending, missed, setMissed }
}

function Kinds({ is_note, choose }: { is_note: boolean; choose: (is_note: boolean) => void }) {
  return (
    <fieldset class="tabs">
      <legend class="unseen">Kind of message</legend>
      <button id="write-reply" type="button" aria-pressed={!is_note} onClick={() => choose(false)}>
        Reply
      </button>
      <button id="write-note" type="button" aria-pressed={is_note} onClick={() => choose(true)}>
        Internal note
      </button>
    </fieldset>
  )
}

/** Shows what came while the answer was written. */
function WhatCame({ missed, send, onClose }: { missed: Missed; send: () => Promise<void>; onClose: () => void }) {
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

type FilesProps = Props & {
  cell: Cell<Draft>
  set: (part: Partial<Draft>) => void
  is_uploading: boolean
  setUploading: (is_uploading: boolean) => void
}

function Files({ api, cell, set, is_uploading, setUploading }: FilesProps) {
  const { files } = useCell(cell)
  const upload = async (list: FileList | null) => {
    setUploading(true)
    await attempt(async () => {
      for (const file of list ?? []) {
        const content = new FormData()
        content.append('file', file)
        const { data } = await api.post<Attachment>('/attachments', undefined, { raw: { content } })
        set({ files: [...cell.value.files, data] })
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
          disabled={is_uploading}
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
          <Button
            text="×"
            label={`Remove ${filename}`}
            onClick={() => set({ files: files.filter((file) => file.id !== id) })}
          />
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
