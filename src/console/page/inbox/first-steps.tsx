/** Shown where no ticket is open: the way to real mail while there is no ticket, else the keys of the inbox. */
import { MessagesSquare } from 'lucide'
import { useRef } from 'preact/hooks'
import type { Ticket, TicketListMeta } from '../../../desk/tickets/model'
import { lazy } from '../lazy'
import { useLive } from '../live'
import { hrefOf } from '../route'
import { Empty } from '../ui/placeholders'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'

/** With at most so many tickets an organization still finds its first steps here. */
const FEW = 10

const Steps = lazy(async () => (await import('../start/way-to-mail')).FirstSteps)

export function FirstSteps(view: View) {
  const { api, organization } = view
  const tickets = useLive<number>(
    `tickets at all ${api.organization_id}`,
    async (before, signal) => {
      if (before !== undefined && before > FEW) return before
      return (await api.get<Ticket[], TicketListMeta>('/tickets?per_page=1', { signal })).meta.total ?? 0
    },
    undefined,
    ({ type }) => type === 'ticket.created',
  )
  // The first ticket is one of the steps: those after it stay in view.
  const has_begun = useRef(false)
  has_begun.current ||= isAdmin(organization) && tickets.value === 0
  const is_new = has_begun.current
  return (
    <section class="welcome" aria-label={t('start.welcome')}>
      {is_new && (
        <>
          <h1>{t('start.welcome')}</h1>
          <Steps {...view} />
        </>
      )}
      {tickets.value !== undefined && !is_new && (
        <Choose {...view} is_young={isAdmin(organization) && tickets.value <= FEW} />
      )}
    </section>
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
