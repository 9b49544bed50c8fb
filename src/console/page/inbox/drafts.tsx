/** Drafts of a ticket: how the one in the composer is kept, and those that are offered to the person. */
import type { Draft } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { useCell } from '../cell'
import { useLive } from '../live'
import { Action, Button, Dot, Time, tell } from '../ui'
import type { ComposerProps } from '../view-types'
import { MessageFrame } from './message-frame'
import type { Writing } from './writing'

/** Drafts have no events. */
const EVERY_MS = 30_000

/** Of the reply, and of the note. */
type Kinds = readonly [Writing, Writing]

/** Reads the drafts of a ticket, and puts the person's own into the composer. */
export function useDrafts({ api, me, ticket }: ComposerProps, kinds: Kinds) {
  const live = useLive<Draft[]>(
    `drafts ${ticket.id}`,
    async (_before, signal) => {
      const turns = kinds.map(({ turn }) => turn)
      const { data } = await api.get<Draft[]>(`/drafts?ticket_id=${ticket.id}&per_page=100`, { signal })
      for (const [place, writing] of kinds.entries()) {
        if (!writing.take(data, me.id, turns[place]!, ticket.messages)) tell('The draft was sent or removed elsewhere.')
      }
      return data
    },
    EVERY_MS,
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
          <article key={id} class="message draft" aria-label={`Draft of ${author.name}`}>
            <header class="line">
              <strong>{author.name}</strong> has prepared {is_internal ? 'a note' : 'an answer'}
              {stale && <Dot kind="failed">the conversation went on</Dot>}
              <span class="grow" />
              <Time at={updated_at} />
            </header>
            <MessageFrame html={body_html} title={`Draft of ${author.name}`} />
            {attachments.length > 0 && (
              <p class="cc">Files: {attachments.map(({ filename }) => filename).join(', ')}</p>
            )}
            <p class="buttons">
              {writing.isEmpty ? (
                <Button text="Use" label={`Use the draft of ${author.name}`} onClick={use} />
              ) : (
                <small>Send or empty what you have written to use it.</small>
              )}
              <Action
                label={`Remove the draft of ${author.name}`}
                run={async () => {
                  await api.delete(`/drafts/${id}`)
                  await reload()
                }}
              >
                Remove
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
  const words = fault ? `Not saved: ${fault}` : writing.isUnsaved ? 'Not saved yet' : kept ? 'Saved as a draft' : ''
  if (!other) {
    return (
      <p class="kept">
        <small>{words}</small>
        {missed > 0 && <Dot kind="failed">The conversation went on since you began.</Dot>}
      </p>
    )
  }
  return (
    <div class="conflict" role="alert">
      <p>This draft was changed elsewhere meanwhile. It says there:</p>
      <blockquote>{other.draft.body}</blockquote>
      <p class="buttons">
        <Button text="Keep what is here" onClick={() => writing.keepThis()} />
        <Button text="Take the other one" onClick={() => writing.use(other.draft, messages, other.etag)} />
      </p>
    </div>
  )
}
