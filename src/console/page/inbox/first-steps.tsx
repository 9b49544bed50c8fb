/** What stands where no ticket is open: the way to real mail while there is no ticket, else the keys of the inbox. */
import { MessagesSquare } from 'lucide'
import type { Ticket } from '../../../desk/tickets/model'
import { lazy } from '../lazy'
import { useLive } from '../live'
import { Empty } from '../ui/placeholders'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'

const Steps = lazy(async () => (await import('../start/way-to-mail')).FirstSteps)

export function FirstSteps(view: View) {
  const { api, organization } = view
  const has_tickets = useLive<boolean>(
    `has tickets ${api.organization_id}`,
    async (before, signal) => before || (await api.get<Ticket[]>('/tickets?per_page=1', { signal })).data.length > 0,
    undefined,
    ({ type }) => type === 'ticket.created',
  )
  const is_new = isAdmin(organization) && has_tickets.value === false
  return (
    <section class="welcome" aria-label={t('start.welcome')}>
      {is_new && (
        <>
          <h1>{t('start.welcome')}</h1>
          <Steps {...view} />
        </>
      )}
      {has_tickets.value !== undefined && !is_new && <Choose />}
    </section>
  )
}

function Choose() {
  return (
    <Empty icon={MessagesSquare} title={t('inbox.choose')}>
      <dl class="keys">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
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
