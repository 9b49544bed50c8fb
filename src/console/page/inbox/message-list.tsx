/** The messages of a ticket, oldest first. Of a long conversation the last ones, and the others on demand. */
import { Ellipsis, Paperclip } from 'lucide'
import { Component } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Attachment } from '../../../desk/attachments/model'
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { fileAddress } from '../api'
import { learn } from '../events'
import { Question } from '../ui/dialogs'
import { Icon } from '../ui/icons'
import { bytes } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'
import { Finding, More, useFirstNew, usePart } from './conversation-part'
import { MessageFrame } from './message-frame'
import { type MessageDeed, MessageHead, type MessageProps } from './message-head'
import { NewTicket } from './new-ticket-later'
import { Split } from './splitting'

/** Files that are shown small beside their name. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif)$/
const MOST_OF_PICTURE = 5_000_000

export function Conversation(view: View & { ticket: TicketWithMessages }) {
  const { api, ticket } = view
  const [begun, setBegun] = useState<{ deed: MessageDeed; message: Message }>()
  const place = useRef<HTMLOListElement>(null)
  const part = usePart(ticket.messages, place)
  const first_new = useFirstNew(ticket)
  const first = part.begins ? part.shown.length : firstDrawn(part.shown)
  const resend = async ({ id }: Message) => {
    const { data } = await api.post<Message>(`/tickets/${ticket.id}/messages/${id}/resend`)
    learn('message.email_sent', { ...data, ticket })
    tell(data.email_status === 'sent' ? t('composer.sent') : t('message.not_yet', { fault: data.email_error ?? '' }))
  }
  return (
    <>
      {part.words !== undefined && <Finding {...part} words={part.words} />}
      <ol class="messages" aria-label={t('message.messages')} ref={place}>
        {ticket.messages.length === 0 && <li class="empty">{t('message.none')}</li>}
        {!part.begins && <More {...part} />}
        {part.shown.map((message, place) => (
          <li key={message.id}>
            {message.id === first_new && <p class="first-new">{t('message.new_from_here')}</p>}
            <Kept
              message={message}
              goes_on={isOfSame(part.shown[place - 1], message)}
              is_first={place >= first}
              resend={() => resend(message)}
              begin={(deed) => setBegun({ deed, message })}
            />
          </li>
        ))}
        {part.begins && <More {...part} />}
      </ol>
      {begun && <Begun {...view} {...begun} onClose={() => setBegun(undefined)} />}
    </>
  )
}

type BegunProps = View & { ticket: TicketWithMessages; message: Message; deed: MessageDeed; onClose: () => void }

/** Asks what a deed on a message needs to know. */
function Begun({ deed, ...props }: BegunProps) {
  const { api, ticket, message, onClose } = props
  if (deed === 'forward') return <NewTicket {...props} forwarded={{ ticket, message }} />
  if (deed === 'split') {
    const at = ticket.messages.findIndex(({ id }) => id === message.id)
    return <Split {...props} later={ticket.messages.slice(at + 1)} />
  }
  const run = async () => {
    await api.delete(`/tickets/${ticket.id}/messages/${message.id}`)
    onClose()
    learn('message.deleted', { id: message.id, ticket })
    tell(t('message.deleted'))
  }
  return (
    <Question title={t('message.delete_question')} answer={t('message.delete')} onClose={onClose} run={run}>
      {t('message.delete_means')}
    </Question>
  )
}

function isOfSame(before: Message | undefined, { sender }: Message): boolean {
  return before?.sender.email === sender.email && before.sender.name === sender.name
}

/** Messages that are drawn with the page, at most, and characters of those that follow the first of them. */
const [FIRST, FIRST_CHARACTERS] = [4, 5000]

/** The place of the first message that is in sight when the newest one is. */
function firstDrawn(shown: Message[]): number {
  let characters = 0
  let place = shown.length
  for (; place > 0 && shown.length - place < FIRST && characters < FIRST_CHARACTERS; place--)
    characters += shown[place - 1]!.body_html.length
  return place
}

function kindOf({ is_internal, direction }: Message): string {
  return is_internal ? 'note' : (direction ?? 'note')
}

/** Most messages stay as they are when another one comes, or more are shown: of hundreds that takes no time. */
class Kept extends Component<MessageProps> {
  override shouldComponentUpdate({ message, goes_on }: MessageProps) {
    return message !== this.props.message || goes_on !== this.props.goes_on
  }

  override render() {
    return <OneMessage {...this.props} />
  }
}

function OneMessage(props: MessageProps) {
  const { message } = props
  const { sender, reply_to, reply_text, body } = message
  const [is_whole, setWhole] = useState(false)
  const is_folded = reply_text !== null && reply_text.trim() !== '' && reply_text.trim() !== body.trim() && !is_whole
  const title = t('message.of', { name: sender.name })
  return (
    <article class={`message ${kindOf(message)}`} aria-label={title}>
      <MessageHead {...props} />
      {is_folded ? (
        <p class="text" dir="auto">
          {reply_text}
        </p>
      ) : (
        <MessageFrame html={message.body_html} title={title} is_first={props.is_first} />
      )}
      {(is_folded || is_whole) && (
        <button
          type="button"
          class="fold"
          aria-expanded={is_whole}
          title={t(is_whole ? 'message.hide_quoted' : 'message.show_quoted')}
          aria-label={t(is_whole ? 'message.hide_quoted' : 'message.show_quoted')}
          onClick={() => setWhole(!is_whole)}
        >
          <Icon of={Ellipsis} />
        </button>
      )}
      {reply_to !== null && <p class="cc">{t('message.reply_to', { email: reply_to })}</p>}
      {message.cc.length > 0 && <p class="cc">{t('message.cc', { emails: message.cc.join(', ') })}</p>}
      <Files attachments={message.attachments} />
    </article>
  )
}

function Files({ attachments }: { attachments: Attachment[] }) {
  if (attachments.length === 0) return null
  return (
    <ul class="files" aria-label={t('message.attachments')}>
      {attachments.map(({ id, filename, content_type, size, url, scan }) => (
        <li key={id}>
          {PICTURE.test(content_type) && size <= MOST_OF_PICTURE && (scan === null || scan === 'clean') ? (
            <img class="thumbnail" src={fileAddress(url)} alt="" loading="lazy" />
          ) : (
            <Icon of={Paperclip} />
          )}
          {/* The service hands out neither. */}
          {scan === 'infected' || scan === 'pending' ? (
            <span dir="auto">{filename}</span>
          ) : (
            <a href={fileAddress(url)} download={filename} dir="auto">
              {filename}
            </a>
          )}{' '}
          <small>{bytes(size)}</small>
          {scan && scan !== 'clean' && <small class={scan === 'infected' ? 'fault' : ''}> {t(`scan.${scan}`)}</small>}
        </li>
      ))}
    </ul>
  )
}
