/** Where one is signed in, and how to end it. */
import type { Session } from '../../../people/auth/model'
import { useLive } from '../live'
import { ScrollTable } from '../rows'
import { Action } from '../ui/buttons'
import { Dot } from '../ui/marks'
import { Time } from '../ui/measures'
import { Waiting } from '../ui/placeholders'
import { tell } from '../ui/toasts'
import type { View } from '../view-types'
import { t } from '../words/catalogue'

const EVERY_MS = 60_000

export function Sessions({ api, me }: View) {
  const live = useLive<Session[]>(
    `sessions ${me.id}`,
    async (_before, signal) => (await api.get<Session[]>('/auth/sessions', { signal })).data,
    EVERY_MS,
  )
  if (!live.value) return <Waiting error={live.error} />
  const end = async (path: string) => {
    await api.own('DELETE', path)
    tell(t('sessions.ended'))
    await live.reload()
  }
  return (
    <>
      <p class="line">
        <Action run={() => end('/auth/sessions')} disabled={live.value.length < 2}>
          {t('sessions.end_others')}
        </Action>
      </p>
      <ScrollTable caption={t('settings.sessions')}>
        <thead>
          <tr>
            <th scope="col">{t('sessions.program')}</th>
            <th scope="col">{t('sessions.address')}</th>
            <th scope="col">{t('sessions.begun')}</th>
            <th scope="col">{t('sessions.used')}</th>
            <th scope="col">{t('list.acts')}</th>
          </tr>
        </thead>
        <tbody>
          {live.value.map((one) => (
            <SessionRow key={one.id} one={one} end={end} />
          ))}
        </tbody>
      </ScrollTable>
    </>
  )
}

/** A browser and its system as people call them; what else signed in, as it calls itself. */
export function programOf({ user_agent }: Pick<Session, 'user_agent'>): string {
  const [browser] = BROWSERS.find(([, mark]) => user_agent?.includes(mark)) ?? []
  const system = SYSTEMS.find((mark) => user_agent?.includes(mark))
  return browser && system ? `${browser}, ${system}` : (user_agent ?? t('sessions.unknown'))
}

/** Each browser also sends the marks of those below it. */
const BROWSERS = [
  ['Edge', 'Edg/'],
  ['Opera', 'OPR/'],
  ['Firefox', 'Firefox/'],
  ['Chrome', 'Chrome/'],
  ['Safari', 'Safari/'],
] as const
const SYSTEMS = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS X', 'CrOS', 'Linux']

function SessionRow({ one, end }: { one: Session; end: (path: string) => Promise<void> }) {
  return (
    <tr>
      <td class="wide">
        <span title={one.user_agent ?? undefined}>{programOf(one)}</span>{' '}
        {one.current && <Dot kind="sent">{t('sessions.current')}</Dot>}
      </td>
      <td>{one.ip}</td>
      <td>
        <Time at={one.created_at} />
      </td>
      <td>{one.last_used_at && <Time at={one.last_used_at} />}</td>
      <td class="buttons">
        {!one.current && (
          <Action run={() => end(`/auth/sessions/${one.id}`)} label={t('sessions.end_of', { program: programOf(one) })}>
            {t('sessions.end')}
          </Action>
        )}
      </td>
    </tr>
  )
}
