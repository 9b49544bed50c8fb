/** What admins look at: figures, mail, webhooks, mailboxes, people, keys and the audit log. */

import { hrefOf } from '../route'
import { isAdmin, type View } from '../view-types'
import { AuditLog } from './audited'
import { Keys } from './keys'
import { Ledger } from './ledger'
import { Mailboxes } from './mailboxes'
import { Overview } from './overview'
import { People } from './people'
import { Webhooks } from './webhooks'

const PARTS = [
  ['overview', 'Overview', Overview],
  ['mail', 'Mail', Ledger],
  ['webhooks', 'Webhooks', Webhooks],
  ['mailboxes', 'Mailboxes', Mailboxes],
  ['people', 'People', People],
  ['keys', 'API keys', Keys],
  ['audit', 'Audit log', AuditLog],
] as const

export function Operate(view: View) {
  const { route, organization } = view
  if (!isAdmin(organization)) {
    return (
      <div class="operate">
        <p class="empty">Only admins see this.</p>
      </div>
    )
  }
  const [name, title, Part] = PARTS.find(([name]) => name === route.path[1]) ?? PARTS[0]
  return (
    <div class="operate">
      <nav aria-label="Operate">
        {PARTS.map(([one, text]) => (
          <a
            key={one}
            href={hrefOf(organization.id, ['operate', one])}
            aria-current={one === name ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
      </nav>
      <h1>{title}</h1>
      <Part {...view} />
    </div>
  )
}
