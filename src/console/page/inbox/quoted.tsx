/** Shows the earlier messages that stand below an answer in its email, and takes another choice of them. */
import type { Draft } from '../../../desk/drafts/model'
import type { Message } from '../../../desk/messages/model'
import { useActs } from '../acts'
import { useCell } from '../cell'
import { Time } from '../ui/measures'
import type { ComposerProps } from '../view-types'
import { t } from '../words/catalogue'
import { MessageFrame } from './message-frame'
import type { Writing } from './writing'

type Quote = NonNullable<Draft['quote']>

const QUOTES: readonly Quote[] = ['none', 'last', 'all']
/** As many as the service quotes. */
const MOST = 20

type Props = ComposerProps & { writing: Writing; is_off: boolean }

/** Nothing stands here while no email would leave, or there is nothing to quote. */
export function Quoted({ ticket, included, writing, is_off }: Props) {
  const { quote } = useCell(writing.cell)
  const { from, to, quote: usual } = included.recipients
  const earlier = ticket.messages.filter(({ is_internal }) => !is_internal).toReversed()
  const is_shown = to.length > 0 && earlier.length > 0
  const choose = (next: Quote) => is_off || writing.write({ quote: next }, ticket.messages)
  useActs(
    is_shown ? QUOTES.map((one) => ({ text: t(`quote.act_${one}`), run: () => choose(one) })) : [],
    t('composer.write'),
  )
  if (!is_shown) return null
  const chosen = quote ?? usual
  const quoted = chosen === 'none' ? [] : earlier.slice(0, chosen === 'last' ? 1 : MOST)
  return (
    <div class="line quoted">
      <label class="line">
        <span class="kind">{t('quote.below')}</span>
        <select
          value={chosen}
          disabled={is_off}
          onChange={(event) => choose((event.target as HTMLSelectElement).value as Quote)}
        >
          {QUOTES.map((one) => (
            <option key={one} value={one}>
              {t(`quote.${one}`)}
            </option>
          ))}
        </select>
      </label>
      {quoted.length > 0 && (
        <details>
          <summary>{t('quote.show', { count: quoted.length })}</summary>
          {quoted.map((message) => (
            <OneQuoted key={message.id} message={message} team={from?.name ?? ''} />
          ))}
        </details>
      )}
    </div>
  )
}

/** @param team the name that the customer sees */
function OneQuoted({ message, team }: { message: Message; team: string }) {
  const { direction, sender, created_at, reply_text, body, format, body_html } = message
  const name = direction === 'outbound' ? team : sender.name
  return (
    <blockquote>
      <p class="hint">
        <bdi>{name}</bdi>, <Time at={created_at} />
      </p>
      {reply_text === null && format === 'html' ? (
        <MessageFrame html={body_html} title={t('message.of', { name })} />
      ) : (
        <p class="text" dir="auto">
          {reply_text ?? body}
        </p>
      )}
    </blockquote>
  )
}
