/** The line above a message: who wrote it, if that is proven, what became of the email, and what can be done. */
import { Forward, ShieldAlert, ShieldCheck, ShieldQuestionMark, Split, Trash2 } from 'lucide'
import type { Message } from '../../../desk/messages/model'
import { Avatar } from '../ui/avatars'
import { Action, Button } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { t } from '../words/catalogue'

/** Deeds on a message that ask something first. */
export type MessageDeed = 'forward' | 'split' | 'delete'

export type MessageProps = {
  message: Message
  /** The one before is of the same person: the sign of that person stands there. */
  goes_on: boolean
  /** It is drawn with the page. */
  is_first: boolean
  resend: () => Promise<void>
  begin: (deed: MessageDeed) => void
}

export function MessageHead({ message, goes_on, resend, begin }: MessageProps) {
  const { sender, created_at, direction, is_internal, auto_reply, email_recipients, mentions } = message
  const is_failed = email_recipients.some(({ status }) => status === 'failed' || status === 'bounced')
  return (
    <header class="line">
      {!goes_on && <Avatar name={sender.name} />}
      <strong class="cut" dir="auto">
        {sender.name}
      </strong>
      {direction === 'inbound' && sender.email !== sender.name && <span class="address cut">{sender.email}</span>}
      <Proof message={message} />
      {is_internal && <Dot kind="note">{t('message.note')}</Dot>}
      {mentions.length > 0 && (
        <small class="cut" dir="auto">
          {t('message.names', { names: mentions.map(({ name }) => name).join(', ') })}
        </small>
      )}
      {auto_reply && <Dot kind="automatic">{t('message.automatic')}</Dot>}
      <span class="grow" />
      {!is_internal && (
        <Button
          kind="bare"
          icon={Forward}
          label={t('forward.of', { name: sender.name })}
          onClick={() => begin('forward')}
        />
      )}
      <Button kind="bare" icon={Split} label={t('split.of', { name: sender.name })} onClick={() => begin('split')} />
      <Button
        kind="bare"
        icon={Trash2}
        label={t('message.delete_of', { name: sender.name })}
        onClick={() => begin('delete')}
      />
      <EmailStatus message={message} />
      {is_failed && (
        <Action run={resend} label={t('message.resend_of', { name: sender.name })}>
          {t('message.resend')}
        </Action>
      )}
      <Time at={created_at} />
    </header>
  )
}

/** Tells if the sender of an email is who it says. */
function Proof({ message: { direction, channel, sender_verified } }: { message: Message }) {
  if (sender_verified === false) {
    return (
      <span class="mark mark-urgent" title={t('message.forged_means')}>
        <Icon of={ShieldAlert} /> {t('message.forged')}
      </span>
    )
  }
  if (direction !== 'inbound' || channel !== 'email') return null
  const key = sender_verified ? 'message.proven' : 'message.unproven'
  return (
    <span class={sender_verified ? 'mark mark-resolved' : 'mark'} title={t(key)}>
      <Icon of={sender_verified ? ShieldCheck : ShieldQuestionMark} />
      <span class="unseen">{t(key)}</span>
    </span>
  )
}

/** The fate of the email, with the words of a server that did not take it. */
function EmailStatus({ message }: { message: Message }) {
  const { email_status, email_error, email_recipients } = message
  if (email_status === 'none') return null
  const faults = email_recipients.flatMap(({ email, error }) => (error ? [`${email}: ${error}`] : []))
  return (
    <span dir="auto" title={[email_error, ...faults].filter(Boolean).join('\n')}>
      <Dot kind={email_status}>{t(`email.${email_status}`)}</Dot>
      {email_status !== 'sent' && <small>{email_error}</small>}
    </span>
  )
}
