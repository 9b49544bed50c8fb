/** Timers that run now, of everybody: for admins. */
import type { Timer } from '../../../desk/timers/model'
import { useRows } from '../lists'
import { hrefOf } from '../route'
import { Table } from '../rows'
import { Time } from '../ui/measures'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

export function Timers({ api }: View) {
  const list = useRows<Timer>(api, '/timers')
  return (
    <Table
      list={list}
      caption={t('time.timers')}
      head={[t('time.who'), t('field.ticket'), t('time.what'), t('time.running_since')]}
      empty={t('time.no_timers')}
      row={({ user, ticket, description, started_at }) => (
        <>
          <td dir="auto">{user.name}</td>
          <td class="wide" dir="auto">
            <a href={hrefOf(api.organization_id, ['tickets', ticket.id])}>
              <span class="code">{ticket.code}</span> {ticket.subject}
            </a>
          </td>
          <td class="wide" dir="auto">
            {description}
          </td>
          <td>
            <Time at={started_at} />
          </td>
        </>
      )}
    />
  )
}
