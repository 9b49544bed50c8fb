/** Drafts of a ticket: how the one in the composer is kept, and those that are offered to the person. */
import { useLayoutEffect } from 'preact/hooks'
import type { Draft } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { useCell } from '../cell'
import { Action, Button } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { tell } from '../ui/toasts'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { MessageFrame } from './message-frame'
import { KeptWhy } from './waiting-answers'
import type { Writing } from './writing'

/** The drafts of the reply and of the note. */
type Kinds = readonly [Writing, Writing]

/** Puts the person's own drafts into the composer. @returns those that are offered: of programs, and of who left */
export function useDrafts({ me, ticket, included, turns }: ComposerProps, kinds: Kinds): Draft[] {
  const { drafts } = included
  // At once: what is typed next goes on with them.
  useLayoutEffect(() => {
    for (const [place, writing] of kinds.entries()) {
      if (!writing.take(drafts, me.id, turns[place]!, ticket.messages)) tell(t('draft.gone'))
    }
  }, [drafts])
  const written = [useCell(kinds[0].cell), useCell(kinds[1].cell)]
  const taken = written.flatMap(({ kept, other }) => [kept?.id, other?.draft.id])
  return drafts.filter(({ id, author, is_internal, send_at, send_error }) => {
    if (send_at !== null || taken.includes(id)) return false
    if (send_error?.code === 'USER_NOT_FOUND') return true
    // A merge, and what could not be sent, may leave the person more than one.
    const is_surplus = author.id === me.id && written[is_internal ? 1 : 0]!.kept !== undefined
    return author.type === 'api_key' || is_surplus
  })
}

type OffersProps = ComposerProps & { offers: Draft[]; kinds: Kinds; choose: (is_note: boolean) => void }

/** Drafts that the person may use: those of programs, and of members who left. */
export function Offers({ api, ticket, offers, reload, kinds, choose }: OffersProps) {
  return (
    <>
      {offers.map((draft) => {
        const { id, author, is_internal, stale, body_html, attachments, updated_at } = draft
        const writing = kinds[is_internal ? 1 : 0]
        const use = async () => {
          // Becomes the person's own when a member left it.
          const { data, etag } = draft.send_error
            ? await api.patch<Draft>(`/drafts/${id}`, { send_at: null })
            : { data: draft, etag: null }
          writing.use(data, ticket.messages, etag)
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
            <KeptWhy draft={draft} />
            <MessageFrame html={body_html} title={t('draft.of', { name: author.name })} />
            {attachments.length > 0 && (
              <p class="cc">{t('draft.files', { files: attachments.map(({ filename }) => filename).join(', ') })}</p>
            )}
            <p class="buttons">
              {writing.isEmpty ? (
                <Action label={t('draft.use_of', { name: author.name })} run={use}>
                  {t('draft.use')}
                </Action>
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
