/** Shows the report of tickets to everybody, and that of the operation to admins. */
import { hrefOf } from '../route'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { Overview } from './overview'
import { TicketReport } from './ticket-report'

const PARTS = [
  ['tickets', TicketReport, false],
  ['operation', Overview, true],
] as const

export function ReportPages(view: View) {
  const { api, route, organization } = view
  const shown = PARTS.filter(([, , is_for_admins]) => !is_for_admins || isAdmin(organization))
  const [name, Part] = shown.find(([name]) => name === route.path[1]) ?? shown[0]!
  return (
    <section class="page" aria-label={t('reports.title')}>
      <div class="page-head">
        <h1>{t('reports.title')}</h1>
      </div>
      {shown.length > 1 && (
        <nav class="page-tabs" aria-label={t('reports.title')}>
          {shown.map(([one]) => (
            <a
              key={one}
              href={hrefOf(api.organization_id, ['reports', one])}
              aria-current={one === name ? 'page' : undefined}
            >
              {t(`reports.of_${one}`)}
            </a>
          ))}
        </nav>
      )}
      <Part {...view} />
    </section>
  )
}
