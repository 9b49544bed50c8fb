/** Time that was logged: the entries, the report, and the timers that run. */
import { hrefOf } from '../route'
import { isAdmin, type View } from '../view-types'
import { t } from '../words/catalogue'
import { TimeEntries } from './time-entries'
import { TimeReport } from './time-report'
import { Timers } from './timers'

const PARTS = [
  ['entries', TimeEntries, false],
  ['report', TimeReport, false],
  ['timers', Timers, true],
] as const

export function TimePages(view: View) {
  const { api, route, organization } = view
  const shown = PARTS.filter(([, , is_for_admins]) => !is_for_admins || isAdmin(organization))
  const [name, Part] = shown.find(([name]) => name === route.path[1]) ?? shown[0]!
  return (
    <section class="page" aria-label={t('time.title')}>
      <div class="page-head">
        <h1>{t('time.title')}</h1>
      </div>
      <nav class="page-tabs" aria-label={t('time.title')}>
        {shown.map(([one]) => (
          <a
            key={one}
            href={hrefOf(api.organization_id, ['time', one])}
            aria-current={one === name ? 'page' : undefined}
          >
            {t(`time.${one}`)}
          </a>
        ))}
      </nav>
      <Part {...view} />
    </section>
  )
}
