/** The part of a conversation that is shown: the newest messages, those from its beginning on, or those with words. */
import { ArrowDownToLine, ArrowUpToLine, Search, X } from 'lucide'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Message } from '../../../desk/messages/model'
import type { TicketWithMessages } from '../../../desk/tickets/model'
import { useActs } from '../acts'
import { Button } from '../ui/buttons'
import { t } from '../words/catalogue'

/** Most messages shown at first: each is a separate document, and hundreds would be slow. */
const SHOWN = 30
/** So many more at a time: they are put into the page in one task. */
const MORE = 10

/** Chooses the messages that are shown, by keys too. @param place the list of them */
export function usePart(messages: Message[], place: RefObject<HTMLElement | null>) {
  const [most, setMost] = useState(SHOWN)
  const [begins, setBegins] = useState(false)
  const [words, setWords] = useState<string>()
  const wanted = words?.trim().toLowerCase()
  const found = wanted
    ? messages.filter(({ body, sender }) => `${sender.name} ${body}`.toLowerCase().includes(wanted))
    : messages
  const shown = begins ? found.slice(0, most) : found.slice(-most)
  const turn = (to_begin: boolean) => {
    setBegins(to_begin)
    setMost(SHOWN)
    // Once they are drawn.
    setTimeout(() => {
      const all = place.current?.querySelectorAll('.message') ?? []
      all[to_begin ? 0 : all.length - 1]?.scrollIntoView({ block: to_begin ? 'start' : 'end' })
    })
  }
  useActs(
    [
      { text: t('message.beginning'), icon: ArrowUpToLine, keys: 'Home', run: () => turn(true) },
      { text: t('message.newest'), icon: ArrowDownToLine, keys: 'End', run: () => turn(false) },
      { text: t('message.find'), icon: Search, keys: 'F', run: () => setWords('') },
    ],
    t('ticket.ticket'),
  )
  return {
    shown,
    hidden: found.length - shown.length,
    found: found.length,
    total: messages.length,
    begins,
    words,
    setWords,
    showMore: () => setMost(most + MORE),
  }
}

/** The first message that was not read when the ticket was opened. */
export function useFirstNew({ unread, read_to, messages }: TicketWithMessages): string | undefined {
  const [first] = useState(() => (unread && read_to ? messages.find(({ id }) => id > read_to)?.id : undefined))
  return first
}

type Part = ReturnType<typeof usePart>
type FindingProps = Pick<Part, 'found' | 'total' | 'setWords'> & { words: string }

/** The field in which the conversation is searched. */
export function Finding({ words, found, total, setWords }: FindingProps) {
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => input.current!.focus(), [])
  return (
    <search class="line finding">
      <input
        ref={input}
        type="search"
        aria-label={t('message.find')}
        placeholder={t('message.find')}
        value={words}
        dir="auto"
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={({ key }) => key === 'Escape' && setWords(undefined)}
      />
      <small role="status">{t('message.found', { found, total })}</small>
      <Button kind="bare" icon={X} label={t('ui.close')} onClick={() => setWords(undefined)} />
    </search>
  )
}

/** Shows more of those that are left out. */
export function More({ hidden, begins, showMore }: Part) {
  if (hidden === 0) return null
  return (
    <li>
      <Button text={t(begins ? 'message.later' : 'message.earlier', { count: hidden })} onClick={showMore} />
    </li>
  )
}
