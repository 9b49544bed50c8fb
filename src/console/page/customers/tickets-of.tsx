/** The tickets of a contact or a company. */
import type { Ticket } from '../../../desk/tickets/model'
import type { Api } from '../api'
import { useRows } from '../lists'
import { hrefOf } from '../route'
import { Table } from '../rows'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { t } from '../words/catalogue'

type Props = { api: Api; filter: Record<string, string>; total: number }

export function TicketsOf({ api, filter, total }: Props) {
  // A contact that joins a company brings its tickets, and no event of theirs.
  const list = useRows<Ticket>(api, '/tickets', { ...filter, sort: '-created_at' }, ({ type }) =>
    /^(ticket|contact)\./.test(type),
  )
  return (
    <section class="card" aria-label={t('field.tickets')}>
      <h2>
        {t('field.tickets')} <span class="count">{total}</span>
      </h2>
      <Table
        list={list}
        caption={t('field.tickets')}
        head={[t('field.ticket'), t('field.status'), t('field.assignee'), t('field.changed')]}
        empty={t('tickets.none')}
        row={({ id, code, subject, status, assignee, updated_at }) => (
          <>
            <td class="wide" dir="auto">
              <a href={hrefOf(api.organization_id, ['tickets', id])}>
                <span class="code">{code}</span> {subject}
              </a>
            </td>
            <td>
              <Dot kind={status}>{t(`status.${status}`)}</Dot>
            </td>
            <td dir="auto">{assignee?.name}</td>
            <td>
              <Time at={updated_at} />
            </td>
          </>
        )}
      />
    </section>
  )
}
