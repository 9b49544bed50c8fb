/** The audit log: who did what in the organization. */
import type { AuditLogEntry } from '../../../people/audit-log/model'
import { useRows } from '../lists'
import { Table } from '../rows'
import { Time } from '../ui/measures'
import type { View } from '../view-types'

export function AuditLog({ api }: View) {
  const list = useRows<AuditLogEntry>(api, '/audit-log')
  return (
    <Table
      list={list}
      caption="Audit log"
      head={['When', 'Who', 'What', 'To', 'Changes', 'From']}
      empty="Nothing is listed yet."
      row={({ created_at, actor, action, resource, changes, ip }) => (
        <>
          <td>
            <Time at={created_at} />
          </td>
          <td>{actor.name ?? actor.type}</td>
          <td>{action}</td>
          <td>{resource?.type.replaceAll('_', ' ')}</td>
          <td class="wide">{changes && <code>{JSON.stringify(changes)}</code>}</td>
          <td>{ip}</td>
        </>
      )}
    />
  )
}
