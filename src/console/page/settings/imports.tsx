/** The outcome of imports: the events that tell of their ends. */
import type { FeedEvent } from '../../../delivery/events/model'
import { query } from '../api'
import { useLive } from '../live'
import { ScrollTable } from '../rows'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const EVERY_MS = 30_000
/** The size of each page; an organization is imported a few times. */
const PER_PAGE = 100

/** By the names of files. */
type Counts = Record<string, { created: number; updated: number }>
type Report = { id: string; at: string; counts: Counts }
type Meta = { next_cursor: string; has_more: boolean }

export function Imports({ api }: View) {
  const live = useLive<Report[]>(
    `imports ${api.organization_id}`,
    async (_before, signal) => {
      const reports: Report[] = []
      let place: Record<string, string> = { start: 'oldest' }
      for (let more = true; more; ) {
        const path = `/events${query({ ...place, types: 'organization.imported', per_page: PER_PAGE })}`
        const { data, meta } = await api.get<FeedEvent[], Meta>(path, { signal })
        for (const { id, timestamp, data: imported } of data) reports.unshift({ id, at: timestamp, counts: imported })
        place = { cursor: meta.next_cursor }
        more = meta.has_more
      }
      return reports
    },
    EVERY_MS,
  )
  return (
    <>
      <p class="hint">{t('imports.means')}</p>
      {!live.value ? (
        <Waiting error={live.error} />
      ) : live.value.length === 0 ? (
        <p class="empty">{t('imports.none')}</p>
      ) : (
        live.value.map((report) => <One key={report.id} report={report} />)
      )}
    </>
  )
}

function One({ report: { at, counts } }: { report: Report }) {
  return (
    <section class="card narrow" aria-label={t('imports.one')}>
      <h2>
        <Time at={at} />
      </h2>
      <ScrollTable caption={t('imports.one')}>
        <thead>
          <tr>
            <th scope="col">{t('imports.file')}</th>
            <th scope="col">{t('imports.created')}</th>
            <th scope="col">{t('imports.updated')}</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(counts).map(([kind, { created, updated }]) => (
            <tr key={kind}>
              <td>{kind}</td>
              <td class="number">{created}</td>
              <td class="number">{updated}</td>
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </section>
  )
}
