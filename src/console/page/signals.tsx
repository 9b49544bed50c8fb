/**
 * Tells that something is new: a count in the title, on the icon and in the rail; on request notifications of the
 * browser, and with them a sound. It is about open tickets of the person and of nobody that are unread.
 */
import { Bell, BellOff, Volume2, VolumeX } from 'lucide'
import { useEffect, useRef } from 'preact/hooks'
import type { Ticket } from '../../desk/tickets/model'
import { Cell, useCell } from './cell'
import { following, follows_hidden } from './events'
import { useTickets } from './inbox/use-tickets'
import { go, hrefOf } from './route'
import type { MenuItem } from './ui/menus'
import { tell } from './ui/toasts'
import type { View } from './view-types'
import { t } from './words/catalogue'

/** How many tickets are new. */
export const news = new Cell(0)

const notifies = new Cell(false)
const sounds = new Cell(false)

const OPEN = { status: 'open' }
/** News stand first, however old their ticket is. */
const ORDER = '-updated_at'
const HIDDEN_MS = 60_000

/** Keeps the count while the organization is shown. */
export function useSignals(view: View): void {
  const { me } = view
  const count = useCell(news)
  useEffect(() => {
    document.title = count > 0 ? `(${count}) Deskwire` : 'Deskwire'
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
    if (icon) icon.href = count > 0 ? `console/icon.svg?count=${Math.min(count, 10)}` : 'console/icon.svg'
  }, [count])
  useEffect(() => {
    if (globalThis.Notification?.permission === 'granted') void notify()
    return () => {
      news.value = 0
    }
  }, [])
  const { rows, reload } = useTickets(view, { ...OPEN, sort: ORDER }, OPEN, ORDER)
  // A page that is not seen has no events.
  useEffect(() => {
    const timer = setInterval(() => document.hidden && !following.value && void reload(), HIDDEN_MS)
    return () => clearInterval(timer)
  }, [reload])
  const before = useRef<Ticket[]>(undefined)
  useEffect(() => {
    if (!rows) return
    const fresh = rows.filter(({ assignee, unread }) => unread && (!assignee || assignee.id === me.id))
    const known = new Map(before.current?.map(({ id, updated_at }) => [id, updated_at]))
    if (before.current) for (const one of fresh) if (known.get(one.id) !== one.updated_at) announce(one)
    before.current = rows
    news.value = fresh.length
  }, [rows])
}

/** Says by the browser that a ticket is new, when its page is not seen. */
function announce(ticket: Ticket): void {
  if (!notifies.value || !document.hidden) return
  const { id, subject, contact } = ticket
  const shown = new Notification(contact?.name ?? t('inbox.no_contact'), {
    body: subject,
    tag: id,
    icon: 'console/icon.svg',
    silent: true,
  })
  shown.onclick = () => {
    window.focus()
    const organization_id = location.hash.replace(/^#\/?/, '').split(/[/?]/)[0]!
    go(hrefOf(organization_id, ['tickets', id]))
    shown.close()
  }
  if (sounds.value) beep()
}

/** Begins to notify. One page of the browser does so, which goes on with its events while it is not seen. */
async function notify(): Promise<void> {
  notifies.value = true
  if (!follows_hidden.value) {
    void navigator.locks?.request('deskwire notifies', () => {
      follows_hidden.value = true
      return new Promise<void>(() => {})
    })
  }
}

async function toggleNotifications(): Promise<void> {
  if (notifies.value) {
    notifies.value = false
    return
  }
  if ((await globalThis.Notification?.requestPermission()) === 'granted') await notify()
  else tell(t('signals.refused'))
}

/** A short tone: no file has to be loaded for it. */
function beep(): void {
  const context = new AudioContext()
  const [tone, volume] = [context.createOscillator(), context.createGain()]
  volume.gain.setValueAtTime(0.08, context.currentTime)
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + 0.4)
  tone.frequency.value = 660
  tone.connect(volume).connect(context.destination)
  tone.start()
  tone.stop(context.currentTime + 0.4)
  tone.onended = () => void context.close()
}

/** Acts that switch the signals. */
export function useSignalItems(): MenuItem[] {
  const has_notifications = useCell(notifies)
  const has_sound = useCell(sounds)
  const items: MenuItem[] = [
    {
      text: t(has_notifications ? 'signals.notifications_off' : 'signals.notifications_on'),
      icon: has_notifications ? BellOff : Bell,
      run: toggleNotifications,
    },
  ]
  if (!has_notifications) return items
  const sound = {
    text: t(has_sound ? 'signals.sound_off' : 'signals.sound_on'),
    icon: has_sound ? VolumeX : Volume2,
    run: () => {
      sounds.value = !has_sound
      if (!has_sound) beep()
    },
  }
  return [...items, sound]
}
