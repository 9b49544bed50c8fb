/** The messages of a ticket, oldest first. Of a long conversation the last ones, and the others on demand. */
import { useState } from 'preact/hooks'
import type { Attachment } from '../../../desk/attachments/model'
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { fileAddress } from '../api'
import { Action, Button, bytes, Dot, Question, Time, tell } from '../ui'
import type { View } from '../view-types'
import { MessageFrame } from './message-frame'

/** Each message is a document of its own: hundreds of them at once would be slow. */
const SHOWN = 30

export function Conversation({
  api,
  ticket,
  reload,
}: View & { ticket: TicketWithMessages; reload: () => Promise<void> }) {
  const [doomed, setDoomed] = useState<Message>()
  const [most, setMost] = useState(SHOWN)
  const resend = async ({ id }: Message) => {
    const { data } = await api.post<Message>(`/tickets/${ticket.id}/messages/${id}/resend`)
    tell(data.email_status === 'sent' ? 'The answer is sent.' : `It is not sent yet. ${data.email_error ?? ''}`)
    await reload()
  }
  const hidden = Math.max(0, ticket.messages.length - most)
  return (
    <ol class="messages" aria-label="Messages">
      {ticket.messages.length === 0 && <li class="empty">There is no message yet.</li>}
      {hidden > 0 && (
        <li>
          <button type="button" class="quiet" onClick={() => setMost(most + SHOWN)}>
            Show earlier messages ({hidden})
          </button>
        </li>
      )}
      {ticket.messages.slice(hidden).map((message) => (
        <li key={message.id}>
          <OneMessage message={message} resend={() => resend(message)} onDelete={() => setDoomed(message)} />
        </li>
      ))}
      {doomed && (
        <Question
          title="Delete this message?"
          answer="Delete"
          onClose={() => setDoomed(undefined)}
          run={async () => {
            await api.delete(`/tickets/${ticket.id}/messages/${doomed.id}`)
            setDoomed(undefined)
            tell('The message is deleted.')
            await reload()
          }}
        >
          It is gone for everybody, with its attachments. An email that was sent stays sent.
        </Question>
      )}
    </ol>
  )
}

function kindOf({ is_internal, direction }: Message): string {
  return is_internal ? 'note' : (direction ?? 'note')
}

type OneMessageProps = { message: Message; resend: () => Promise<void>; onDelete: () => void }

function OneMessage({ message, resend, onDelete }: OneMessageProps) {
  const { sender, created_at, is_internal, auto_reply, sender_verified, reply_to, reply_text, body } = message
  const [is_whole, setWhole] = useState(false)
  const is_folded = reply_text !== null && reply_text.trim() !== '' && reply_text.trim() !== body.trim() && !is_whole
  return (
    <article class={`message ${kindOf(message)}`} aria-label={`Message of ${sender.name}`}>
      <header class="line">
        <strong>{sender.name}</strong>
        {sender.email && <span class="address">{sender.email}</span>}
        {is_internal && <Dot kind="note">internal note</Dot>}
        {auto_reply && <Dot kind="automatic">automatic</Dot>}
        {sender_verified === false && <Dot kind="failed">sender forged</Dot>}
        <span class="grow" />
        <EmailStatus message={message} />
        {message.email_recipients.some(({ status }) => status === 'failed' || status === 'bounced') && (
          <Action run={resend} label={`Send the message of ${sender.name} again`}>
            Send again
          </Action>
        )}
        <Time at={created_at} />
        <Button text="Delete" label={`Delete the message of ${sender.name}`} onClick={onDelete} />
      </header>
      {is_folded ? (
        <p class="text">{reply_text}</p>
      ) : (
        <MessageFrame html={message.body_html} title={`Message of ${sender.name}`} />
      )}
      {(is_folded || is_whole) && (
        <Button
          text={is_whole ? 'Hide quoted text' : 'Show quoted text'}
          is_open={is_whole}
          onClick={() => setWhole(!is_whole)}
        />
      )}
      {reply_to !== null && <p class="cc">Reply-To: {reply_to}</p>}
      {message.cc.length > 0 && <p class="cc">Cc: {message.cc.join(', ')}</p>}
      <Files attachments={message.attachments} />
    </article>
  )
}

/** What became of the email, with what the server said when it did not take it. */
function EmailStatus({ message }: { message: Message }) {
  const { email_status, email_error, email_recipients } = message
  if (email_status === 'none') return null
  const faults = email_recipients.flatMap(({ email, error }) => (error ? [`${email}: ${error}`] : []))
  return (
    <span title={[email_error, ...faults].filter(Boolean).join('\n')}>
      <Dot kind={email_status}>{email_status === 'queued' ? 'waits to be sent' : email_status}</Dot>
      {email_status !== 'sent' && <small>{email_error}</small>}
    </span>
  )
}

function Files({ attachments }: { attachments: Attachment[] }) {
  if (attachments.length === 0) return null
  return (
    <ul class="files" aria-label="Attachments">
      {attachments.map(({ id, filename, size, url }) => (
        <li key={id}>
          <a href={fileAddress(url)} download={filename}>
            {filename}
          </a>{' '}
          <small>{bytes(size)}</small>
        </li>
      ))}
    </ul>
  )
}
