/** Answers that leave at a moment: how one is chosen, those that wait, and why one was kept. */
import { Clock, Send } from 'lucide'
import type { Draft } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { learn } from '../events'
import { Action } from '../ui/buttons'
import { Icon } from '../ui/icons'
import { Dot } from '../ui/marks'
import { moment } from '../ui/measures'
import { tell } from '../ui/toasts'
import { type ComposerProps, isAdmin } from '../view-types'
import { t } from '../words/catalogue'
import { MessageFrame } from './message-frame'
import { Moments } from './moments'
import { outcomeOf } from './sending'
import type { Writing } from './writing'

type SendLaterProps = Pick<ComposerProps, 'api'> & { is_off: boolean; send: (at: string) => Promise<unknown> }

/** The button beside those that send. */
export function SendLater({ api, is_off, send }: SendLaterProps) {
  return (
    <Moments
      api={api}
      label={t('later.send')}
      deed={t('later.send')}
      field={t('later.when')}
      button={<Icon of={Clock} />}
      act={{ text: t('later.send'), icon: Clock, group: t('composer.write') }}
      disabled={is_off}
      choose={async (date) => (await send(date.toISOString())) !== false}
    />
  )
}

type WaitingProps = ComposerProps & { writing: Writing; choose: (is_note: boolean) => void }

/** The answers that wait for their moment. Their authors change them; the others see that they are to come. */
export function WaitingAnswers(props: WaitingProps) {
  const waiting = props.included.drafts.filter(({ send_at }) => send_at !== null)
  return waiting.toReversed().map((draft) => <WaitingAnswer key={draft.id} {...props} draft={draft} />)
}

function WaitingAnswer(props: WaitingProps & { draft: Draft }) {
  const { api, me, organization, ticket, draft, reload } = props
  const { id, author, body_html, attachments, based_on, send_at, unless_answered } = draft
  // Messages come without the drafts.
  const is_stale = ticket.messages.some((message) => !message.is_internal && message.id > (based_on ?? ''))
  const is_own = author.id === me.id
  const title = t('later.of', { name: author.name })
  const remove = async () => {
    await api.delete(`/drafts/${id}`)
    await reload()
  }
  return (
    <article class="message draft" aria-label={title}>
      <header class="line">
        <Icon of={Clock} />
        <strong dir="auto">{t('later.leaves_of', { name: author.name, at: moment(send_at!) })}</strong>
        {is_stale && unless_answered && <Dot kind="failed">{t('later.stale')}</Dot>}
      </header>
      <MessageFrame html={body_html} title={title} />
      {attachments.length > 0 && (
        <p class="cc">{t('draft.files', { files: attachments.map(({ filename }) => filename).join(', ') })}</p>
      )}
      <div class="buttons">
        {is_own && <OwnDeeds {...props} />}
        {(is_own || isAdmin(organization)) && (
          <Action label={t('draft.remove_of', { name: author.name })} run={remove}>
            {t('draft.remove')}
          </Action>
        )}
      </div>
    </article>
  )
}

/** The deeds of the author. */
function OwnDeeds({ api, ticket, draft, writing, choose, reload }: WaitingProps & { draft: Draft }) {
  const path = `/drafts/${draft.id}`
  const change = async (changes: object) => {
    const { data, etag } = await api.patch<Draft>(path, changes)
    await reload()
    return { data, etag }
  }
  const sendNow = async () => {
    const { data } = await api.post<Message>(`${path}/send`, {})
    learn('message.created', { ...data, ticket: { id: ticket.id } })
    learn('drafts', { id: ticket.id, step: -1 })
    tell(outcomeOf(data))
    await reload()
  }
  const takeBack = async () => {
    const { data, etag } = await api.patch<Draft>(path, { send_at: null })
    writing.use(data, ticket.messages, etag)
    choose(false)
    await reload()
  }
  return (
    <>
      <Action icon={Send} run={sendNow}>
        {t('composer.now')}
      </Action>
      <Moments
        api={api}
        label={t('later.move')}
        deed={t('later.move')}
        field={t('later.when')}
        kind="quiet"
        button={t('later.move')}
        choose={async (date) => (await change({ send_at: date.toISOString() })) !== undefined}
      />
      {writing.isEmpty ? (
        <Action run={takeBack}>{t('later.take_back')}</Action>
      ) : (
        <small>{t('later.first_empty')}</small>
      )}
      <label class="line">
        <input
          type="checkbox"
          checked={draft.unless_answered}
          onChange={() => change({ unless_answered: !draft.unless_answered })}
        />
        {t('later.unless_answered')}
      </label>
    </>
  )
}

/** Says why an answer did not leave at its moment. */
export function KeptWhy({ draft }: { draft: Draft | undefined }) {
  if (!draft?.send_error) return null
  return (
    <p class="fault" role="status">
      {t(`later.${draft.send_error.code}`)}
    </p>
  )
}
