/** A choice of a moment ahead, on the clocks of the organization. */
import { CalendarClock } from 'lucide'
import { useState } from 'preact/hooks'
import type { Organization } from '../../../people/organizations/model'
import type { Api } from '../api'
import { Dialog } from '../ui/dialogs'
import { Field, Form } from '../ui/form-fields'
import { Menu, type MenuItem } from '../ui/menus'
import { t } from '../words/catalogue'
import { momentIn, morningIn } from './clocks'

const HOURS_MS = 3 * 3_600_000

type MomentsProps = Omit<Parameters<typeof Menu>[0], 'items'> & {
  api: Api
  /** The deed in the dialog, and the label of its field. */
  deed: string
  field: string
  /** Acts above the moments. */
  first?: MenuItem[]
  /** @returns whether it was done */
  choose: (moment: Date) => Promise<boolean>
}

/** A menu of moments; the last one is any day and time. */
export function Moments({ api, deed, field, first = [], choose, ...menu }: MomentsProps) {
  const [zone, setZone] = useState<string>()
  const morning = async (dayOf: (today: Date) => number) => choose(morningIn(await zoneOf(api), dayOf))
  const toMonday = (today: Date) => (8 - today.getUTCDay()) % 7 || 7
  return (
    <>
      <Menu
        {...menu}
        items={[
          ...first,
          { text: t('moment.hours'), run: () => choose(new Date(Date.now() + HOURS_MS)) },
          { text: t('moment.tomorrow'), run: () => morning(() => 1) },
          { text: t('moment.monday'), run: () => morning(toMonday) },
          { text: t('moment.date'), icon: CalendarClock, run: async () => setZone(await zoneOf(api)) },
        ]}
      />
      {zone && (
        <Dialog title={deed} onClose={() => setZone(undefined)}>
          <Form
            submit={deed}
            onCancel={() => setZone(undefined)}
            send={async (form) => {
              if (await choose(momentIn(zone, String(form.get('moment'))))) setZone(undefined)
            }}
          >
            <Field label={field} hint={zone.replaceAll('_', ' ')} name="moment" type="datetime-local" required />
          </Form>
        </Dialog>
      )}
    </>
  )
}

/** The time zone of the organization. */
async function zoneOf(api: Api): Promise<string> {
  return (await api.get<Organization>('/organization')).data.time_zone
}
