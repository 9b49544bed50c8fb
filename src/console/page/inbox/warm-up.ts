/** Loads what comes next before anybody asks for it, while nothing else happens. */
import { whenIdle } from '../idle'
import { CustomerPanel } from './side'
import { keepSpares } from './spare-frames'
import { RichText } from './text-field'

/** The code that the first ticket needs. */
export function warmUpTicket(): void {
  whenIdle(CustomerPanel.preload)
  keepSpares()
}

/** The ticket itself comes first. */
const LATER_MS = 3000

/** The editor, which is needed once somebody formats what they write in a ticket. @returns what calls it off */
export function warmUpEditor(): () => void {
  const timer = setTimeout(whenIdle, LATER_MS, RichText.preload)
  return () => clearTimeout(timer)
}
