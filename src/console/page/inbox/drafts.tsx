/** Drafts of a ticket: how the one in the composer is kept, and those that are offered to the person. */
import type { Draft } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { useCell } from '../cell'
import { noticing, type Told } from '../events'
import { RARELY_MS, useLive } from '../live'
import { Action, Button } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { MessageFrame } from './message-frame'
import type { Writing } from './writing'

/** Drafts have no events. Without notices they are read so often. */
const EVERY_MS = 60_000
/** Events that move drafts to another ticket. */
const MOVING = ['ticket.merged', 'ticket.unmerged', 'ticket.split']

/** The drafts of the reply and of the note. */
type Kinds = readonly [Writing, Writing]

/** Reads the drafts of a ticket, and puts the person's own into the composer. */
export function useDrafts({ api, me, ticket }: ComposerProps, kinds: Kinds) {
  const isAbout = ({ type, ids, ticket_id, by }: Told, drafts: Draft[] = []) => {
    if (type === 'notices' || (MOVING.includes(type) && ids.includes(ticket.id))) return true
    // A message makes drafts stale.
    if (type === 'message.created') return drafts.length > 0 && ids.includes(ticket.id)
    const is_of_page = by === me.id && kinds.some((writing) => writing.isFresh)
    return type === 'draft' && ticket_id === ticket.id && !is_of_page
  }
  const live = useLive<Draft[]>(
    `drafts ${ticket.id}`,
    async (_before, signal) => {
      const turns = kinds.map(({ turn }) => turn)
      const { data } = await api.get<Draft[]>(`/drafts?ticket_id=${ticket.id}&per_page=100`, { signal })
      for (const [place, writing] of kinds.entries()) {
        if (!writing.take(data, me.id, turns[place]!, ticket.messages)) tell(t('draft.gone'))
      }
      return data
    },
    () => (noticing.value ? RARELY_MS : EVERY_MS),
    isAbout,
  )
  const written = [useCell(kinds[0].cell), useCell(kinds[1].cell)]
  const taken = written.flatMap(({ kept, other }) => [kept?.id, other?.draft.id])
  const offers = (live.value ?? []).filter(({ id, author, is_internal }) => {
    // A merge may leave the person more than one.
    const is_surplus = author.id === me.id && written[is_internal ? 1 : 0]!.kept !== undefined
    return !taken.includes(id) && (author.type === 'api_key' || is_surplus)
  })
  return { offers, reload: live.reload }
}

type OffersProps = ComposerProps & {
  offers: Draft[]
  /** Reads the drafts. */
  reload: () => Promise<void>
  kinds: Kinds
  choose: (is_note: boolean) => void
}

/** Drafts that the person may use: those of programs. */
export function Offers({ api, ticket, offers, reload, kinds, choose }: OffersProps) {
  return (
    <>
      {offers.map((draft) => {
        const { id, author, is_internal, stale, body_html, attachments, updated_at } = draft
        const writing = kinds[is_internal ? 1 : 0]
        const use = () => {
          writing.use(draft, ticket.messages)
          choose(is_internal)
        }
        return (
          <article key={id} class="message draft" aria-label={t('draft.of', { name: author.name })}>
            <header class="line">
              <strong dir="auto">
                {t(is_internal ? 'draft.prepared_note' : 'draft.prepared', { name: author.name })}
              </strong>
              {stale && <Dot kind="failed">{t('composer.went_on')}</Dot>}
              <span class="grow" />
              <Time at={updated_at} />
            </header>
            <MessageFrame html={body_html} title={t('draft.of', { name: author.name })} />
            {attachments.length > 0 && (
              <p class="cc">{t('draft.files', { files: attachments.map(({ filename }) => filename).join(', ') })}</p>
            )}
            <p class="buttons">
              {writing.isEmpty ? (
                <Button text={t('draft.use')} label={t('draft.use_of', { name: author.name })} onClick={use} />
              ) : (
                <small>{t('draft.first_empty')}</small>
              )}
              <Action
                label={t('draft.remove_of', { name: author.name })}
                run={async () => {
                  await api.delete(`/drafts/${id}`)
                  await reload()
                }}
              >
                {t('draft.remove')}
              </Action>
            </p>
          </article>
        )
      })}
    </>
  )
}

type DraftStateProps = {
  writing: Writing
  /** Messages that came since the draft was begun. */
  missed: number
  messages: Message[]
}

/** Tells if what is written is kept, and lets the person choose when it was changed elsewhere too. */
export function DraftState({ writing, missed, messages }: DraftStateProps) {
  const { kept, fault, other } = useCell(writing.cell)
  const state = writing.isUnsaved ? t('draft.unsaved') : kept ? t('draft.saved') : ''
  const words = fault ? t('draft.fault', { fault }) : state
  if (!other) {
    return (
      <p class="kept">
        <small>{words}</small>
        {missed > 0 && <Dot kind="failed">{t('draft.went_on')}</Dot>}
      </p>
    )
  }
  return (
    <div class="conflict" role="alert">
      <p>{t('draft.changed')}</p>
      <blockquote>{other.draft.body}</blockquote>
      <p class="buttons">
        <Button text={t('draft.keep')} onClick={() => writing.keepThis()} />
        <Button text={t('draft.take')} onClick={() => writing.use(other.draft, messages, other.etag)} />
      </p>
    </div>
  )
}
