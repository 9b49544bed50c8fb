/** Shown where no ticket is open: the way to real mail while there is no ticket, else the keys of the inbox. */
import { MessagesSquare } from 'lucide'
import { useRef } from 'preact/hooks'
import type { TicketListMeta } from '../../../desk/tickets/model'
import { useCell } from '../cell'
import { lazy } from '../lazy'
import { useLive } from '../live'
import { hrefOf } from '../route'
import { Empty } from '../ui/placeholders'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { shownTotal } from './use-tickets'

/** With at most so many tickets an organization still finds its first steps here. */
const FEW = 10

const Steps = lazy(async () => (await import('../start/way-to-mail')).FirstSteps)

export function FirstSteps(view: View) {
  const shown = useCell(shownTotal)?.total
  const is_admin = isAdmin(view.organization)
  // The first ticket is one of the steps: those after it stay in view.
  const asks = useRef(false)
  asks.current ||= is_admin && shown === 0
  return (
    <section class="welcome" aria-label={t('start.welcome')}>
      {asks.current && <First {...view} />}
      {!asks.current && shown !== undefined && <Choose {...view} is_young={is_admin && shown <= FEW} />}
    </section>
  )
}

/** The steps, if there was no ticket at all when it was first shown. */
function First(view: View) {
  const { api } = view
  const tickets = useLive<number>(
    `tickets at all ${api.organization_id}`,
    async (before, signal) =>
      before ?? (await api.get<unknown, TicketListMeta>('/tickets?per_page=1', { signal })).meta.total ?? 0,
  )
  if (tickets.value === undefined) return null
  if (tickets.value > 0) return <Choose {...view} is_young={tickets.value <= FEW} />
  return (
    <>
      <h1>{t('start.welcome')}</h1>
      <Steps {...view} />
    </>
  )
}

function Choose({ api, is_young }: View & { is_young: boolean }) {
  return (
    <Empty icon={MessagesSquare} title={t('inbox.choose')}>
      {is_young && (
        <p>
          <a href={hrefOf(api.organization_id, ['settings', 'start'])}>{t('start.go_on')}</a>
        </p>
      )}
      <dl class="keys">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key.replace('Ctrl', t('ui.ctrl'))}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
    </Empty>
  )
}

const KEYS = [
  ['j', 'inbox.next'],
  ['k', 'inbox.previous'],
  ['/', 'inbox.search'],
  ['Ctrl K', 'frame.palette'],
  ['?', 'frame.keys'],
] as const
